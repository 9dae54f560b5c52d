create schema auth;
create schema "Support Desk";
create table auth."user" (
  id uuid primary key default gen_random_uuid(),
  name text not null unique,
  "passwordHash" text not null,
  roles text[] not null default array['agent'],
  locked_until timestamptz(3)
);
create table "user" (
  id integer primary key,
  "class" varchar(10) not null,
  "constructor" text,
  "toString" text,
  "default" boolean default true,
  "2fa code" char(6),
  "2fa_code" smallint,
  "First Name" text not null default '',
  "firstName" text,
  first_name text,
  "straße" text,
  "名前" text
);
create table "Support Desk"."TICKET" (
  "ID" bigserial primary key,
  "REPORTER_ID" uuid references auth."user",
  "ASSIGNEE" uuid references auth."user" on delete set null,
  "TITLE" varchar(200) not null,
  "STATE" text not null default 'new' constraint known_state check ("STATE" in ('new', 'open', 'it''s done')),
  "PRIORITY" smallint not null default 3,
  constraint priority check ("PRIORITY" between 1 and 5)
);
create table "Support Desk"."date" (id date primary key, note text);
create table "Support Desk"."2nd level" (id serial primary key, "ticket" bigint unique references "Support Desk"."TICKET" on delete cascade);
create table watcher (
  ticket_id bigint not null references "Support Desk"."TICKET" on delete cascade,
  user_id uuid not null references auth."user" on delete cascade,
  primary key (user_id, ticket_id)
);
create table blocked_by (
  ticket bigint references "Support Desk"."TICKET",
  blocker bigint references "Support Desk"."TICKET",
  primary key (ticket, blocker)
);
create table comment (
  id bigint generated always as identity primary key,
  ticket_id bigint not null references "Support Desk"."TICKET",
  parent_id bigint references comment,
  body text not null,
  body_length integer generated always as (length(body)) stored,
  written timestamp with time zone not null default current_timestamp,
  edited timestamp(0) without time zone,
  seen time with time zone,
  took interval,
  mac macaddr,
  network cidr,
  amounts double precision[],
  flags boolean[],
  refs uuid[],
  matrix integer[][],
  ranges int4range,
  price money,
  plain numeric,
  rounded numeric(6, 0)
);
create table event (id bigint not null, at timestamptz not null, kind text, primary key (id, at)) partition by range (at);
create table event_2026 partition of event for values from ('2026-01-01') to ('2027-01-01');
create table audited (id serial primary key, document xml not null);
create table "dotted.name" (id serial primary key);
create table tenant (id integer not null, region text not null, primary key (id, region));
create table tenant_member (tenant_id integer, tenant_region text, person integer, primary key (tenant_id, tenant_region, person),
  foreign key (tenant_id, tenant_region) references tenant);
create table mikro_orm_migrations (id serial primary key, name text);

insert into auth."user" (name, "passwordHash") values ('ada', 'x'), ('bob', 'y');
insert into "user" (id, "class", "First Name", "firstName", first_name, "2fa code") values (7, 'a', 'one', 'two', 'three', '123');
insert into "Support Desk"."TICKET" ("REPORTER_ID", "TITLE", "STATE") select id, 'Broken', 'it''s done' from auth."user" where name = 'ada';
insert into watcher select 1, id from auth."user";
insert into comment (ticket_id, body, plain, took, amounts, flags, network, mac) values (1, 'hello', 1.250, '1 day', '{1.5,2}', '{t,f}', '10.0.0.0/8', '08:00:2b:01:02:03');
insert into "Support Desk"."2nd level" ("ticket") values (1);
