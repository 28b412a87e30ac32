-- +goose Up
CREATE TABLE "clock_marks" (
	"id" character varying NOT NULL,
	"seen_at" timestamptz NOT NULL,
	"held_until" timestamptz NULL,
	PRIMARY KEY ("id")
);
