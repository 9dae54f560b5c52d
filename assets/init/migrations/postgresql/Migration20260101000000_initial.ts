import { Migration } from '@mikro-orm/migrations';

export class Migration20260101000000_initial extends Migration {
  override async up(): Promise<void> {
    this.addSql(
      `create table "sample_item" ("id" serial primary key, "title" varchar(80) not null, "archived" boolean not null default false, "created" timestamptz not null, "remark" varchar(255) null);`,
    );
  }

  override async down(): Promise<void> {
    this.addSql(`drop table if exists "sample_item" cascade;`);
  }
}
