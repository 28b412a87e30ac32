-- +goose Up
DROP INDEX `store_moving`;
ALTER TABLE `stores` DROP COLUMN `moving`;
ALTER TABLE `stores` DROP COLUMN `move_run`;
ALTER TABLE `stores` DROP COLUMN `moved_to`;
ALTER TABLE `stores` DROP COLUMN `redirect_to`;
