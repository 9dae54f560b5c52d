create type film_rating as enum ('G', 'PG', 'PG-13', 'R', 'NC-17');
create domain release_year as integer check (value between 1895 and 2200);
create table country (country_id serial primary key, country varchar(50) not null, last_update timestamp not null default now());
create table city (
  city_id serial primary key,
  city varchar(50) not null,
  country_id integer not null references country (country_id) on update cascade on delete restrict,
  last_update timestamp not null default now()
);
create table place (
  place_id serial primary key,
  address varchar(50) not null,
  address2 varchar(50),
  district varchar(20) not null,
  city_id integer not null references city (city_id),
  postal_code varchar(10),
  phone varchar(20) not null,
  last_update timestamp not null default now()
);
create table language (language_id serial primary key, name char(20) not null, last_update timestamp not null default now());
create table actor (actor_id serial primary key, first_name varchar(45) not null, last_name varchar(45) not null, last_update timestamp not null default now());
create index idx_actor_last_name on actor (last_name);
create table category (category_id serial primary key, name varchar(25) not null, last_update timestamp not null default now());
create table film (
  film_id serial primary key,
  title varchar(255) not null,
  description text,
  release_year release_year,
  language_id integer not null references language (language_id),
  original_language_id integer references language (language_id),
  rental_duration smallint not null default 3,
  rental_rate numeric(5, 2) not null default 4.99,
  length smallint,
  replacement_cost numeric(5, 2) not null default 19.99,
  rating film_rating default 'G',
  special_features text[],
  fulltext tsvector,
  last_update timestamp not null default now()
);
create index idx_title on film (title);
create table film_actor (
  actor_id integer not null references actor (actor_id),
  film_id integer not null references film (film_id),
  last_update timestamp not null default now(),
  primary key (actor_id, film_id)
);
create index idx_film on film_actor (film_id);
create table film_category (
  film_id integer not null references film (film_id) on delete cascade,
  category_id integer not null references category (category_id),
  primary key (film_id, category_id)
);
create table film_text (film_id integer not null primary key, title varchar(255) not null, description text);
create table store (
  store_id serial primary key,
  manager_staff_id integer not null unique,
  place_id integer not null references place (place_id),
  last_update timestamp not null default now()
);
create table staff (
  staff_id serial primary key,
  first_name varchar(45) not null,
  last_name varchar(45) not null,
  place_id integer not null references place (place_id),
  email varchar(50),
  store_id integer not null references store (store_id),
  active boolean not null default true,
  username varchar(16) not null,
  password varchar(40),
  picture bytea,
  last_update timestamp not null default now()
);
alter table store add foreign key (manager_staff_id) references staff (staff_id) deferrable initially deferred;
create table customer (
  customer_id serial primary key,
  store_id integer not null references store (store_id),
  first_name varchar(45) not null,
  last_name varchar(45) not null,
  email varchar(50),
  place_id integer not null references place (place_id),
  activebool boolean not null default true,
  create_date date not null default current_date,
  last_update timestamp not null default now()
);
create table inventory (
  inventory_id serial primary key,
  film_id integer not null references film (film_id),
  store_id integer not null references store (store_id),
  last_update timestamp not null default now()
);
create index idx_store_film on inventory (store_id, film_id);
create table rental (
  rental_id serial primary key,
  rental_date timestamp not null,
  inventory_id integer not null references inventory (inventory_id),
  customer_id integer not null references customer (customer_id),
  return_date timestamp,
  staff_id integer not null references staff (staff_id),
  last_update timestamp not null default now()
);
create unique index idx_rental on rental (rental_date, inventory_id, customer_id);
create table payment (
  payment_id serial,
  customer_id integer not null references customer (customer_id),
  rental_id integer references rental (rental_id) on delete set null,
  amount numeric(5, 2) not null,
  payment_date timestamp not null,
  primary key (payment_id, payment_date)
) partition by range (payment_date);
create table payment_2026_01 partition of payment for values from ('2026-01-01') to ('2026-02-01');
create table payment_rest partition of payment default;
create view film_list as select film_id, title from film;

insert into country (country) values ('Austria'), ('Chad');
insert into city (city, country_id) values ('Linz', 1);
insert into place (address, district, city_id, phone) values ('47 High Street', 'West', 1, '');
insert into language (name) values ('English');
insert into actor (first_name, last_name) values ('PENELOPE', 'GRAY'), ('NICK', 'STONE');
insert into category (name) values ('Drama');
insert into film (title, release_year, language_id, rating) values ('QUIET HARBOR', 2006, 1, 'PG-13'), ('LOST COMET', null, 1, null);
insert into film_actor (actor_id, film_id) values (1, 1), (2, 1);
insert into film_category values (1, 1);
begin;
insert into store (manager_staff_id, place_id) values (1, 1);
insert into staff (first_name, last_name, place_id, store_id, username) values ('Mike', 'Hill', 1, 1, 'mike');
commit;
insert into customer (store_id, first_name, last_name, place_id) values (1, 'MARY', 'SMITH', 1);
insert into inventory (film_id, store_id) values (1, 1);
insert into rental (rental_date, inventory_id, customer_id, staff_id) values ('2026-01-05 11:30:37', 1, 1, 1);
insert into payment (customer_id, rental_id, amount, payment_date) values (1, 1, 2.99, '2026-01-05 11:30:37');
