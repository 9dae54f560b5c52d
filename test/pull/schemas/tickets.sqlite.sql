create table "auth user" (
  id guid not null primary key,
  name text not null unique,
  "passwordHash" text not null
);
create table "user" (
  id int primary key,
  "class" varchar(10) not null,
  "constructor" text,
  "toString" text,
  "default" boolean default 1,
  "2fa code" char(6),
  "2fa_code" smallint,
  "First Name" text not null default '',
  [firstName] text,
  `first_name` text,
  "straße" text,
  "名前" text
);
create table "TICKET" (
  "ID" INTEGER PRIMARY KEY AUTOINCREMENT,
  "REPORTER_ID" guid REFERENCES "auth user",
  "ASSIGNEE" guid REFERENCES "auth user"(id) ON DELETE SET NULL,
  "TITLE" VARCHAR(200) NOT NULL,
  "STATE" TEXT NOT NULL DEFAULT 'new' CONSTRAINT known_state CHECK ("STATE" IN ('new', 'open', 'it''s done')),
  "PRIORITY" SMALLINT NOT NULL DEFAULT 3,
  CONSTRAINT priority CHECK ("PRIORITY" BETWEEN 1 AND 5)
);
create table "date" (id date primary key, note text);
create table "2nd level" (id integer primary key, "ticket" integer unique references ticket on delete cascade);
create table watcher (
  ticket_id integer not null references "TICKET" on delete cascade,
  user_id guid not null references "auth user" on delete cascade,
  primary key (user_id, ticket_id)
);
create table comment (
  id integer primary key,
  ticket_id int not null references "TICKET",
  parent_id int references comment,
  body text not null,
  body_length int generated always as (length(body)) virtual,
  written datetime not null default (datetime('now')),
  seen time,
  day date,
  done boolean,
  price money,
  place point,
  shape polygon
);
create table measured (id integer primary key, value real not null, label text, raw blob) strict;
create table "dotted.name" (id integer primary key);
create table tenant (id int not null, region text not null, primary key (id, region));
create table tenant_member (tenant_id int, tenant_region text, person int, primary key (tenant_id, tenant_region, person),
  foreign key (tenant_id, tenant_region) references tenant);
create table audited (id integer primary key, document not null);

insert into "auth user" values ('8a3f0c1e-1111-4222-8333-444455556666', 'ada', 'x'), ('8a3f0c1e-1111-4222-8333-444455557777', 'bob', 'y');
insert into "user" (id, "class", "First Name", firstName, first_name, "2fa code") values (7, 'a', 'one', 'two', 'three', '123456');
insert into "TICKET" ("REPORTER_ID", "TITLE", "STATE") select id, 'Broken', 'it''s done' from "auth user" where name = 'ada';
insert into watcher select 1, id from "auth user";
insert into comment (ticket_id, body, day, done, seen) values (1, 'hello', '2026-01-02', 1, '12:30');
insert into "2nd level" ("ticket") values (1);
insert into measured values (1, 1.5, 'a', x'0102');
