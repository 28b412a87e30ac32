-- +goose Up
DROP INDEX "store_moving";
ALTER TABLE "stores" DROP COLUMN "moving", DROP COLUMN "move_run", DROP COLUMN "moved_to", DROP COLUMN "redirect_to";
