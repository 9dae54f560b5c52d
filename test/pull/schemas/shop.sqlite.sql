create table customer (
  id integer primary key autoincrement,
  email varchar(200) not null collate nocase unique,
  first_name varchar(80) not null,
  last_name varchar(80) not null,
  full_name text generated always as (first_name || ' ' || last_name) stored,
  initials text as (substr(first_name, 1, 1) || '.') virtual,
  birthday date,
  preferences json not null default '{}',
  newsletter boolean not null default false,
  created_at datetime not null default current_timestamp,
  constraint short_name check (length(last_name) < 80) -- a comment, with (parentheses
);
create table address (
  id char(36) not null primary key,
  customer_id integer not null references customer on delete cascade,
  street text not null,
  city text not null,
  country char(2) not null default 'DE',
  is_default boolean not null default 0
);
create index address_customer on address (customer_id);
create unique index one_default_address on address (customer_id) where is_default = 1;
create table category (
  id integer primary key,
  parent_id integer references category(id) on delete set null,
  name varchar(60) not null,
  unique (parent_id, name)
);
create table product (
  sku varchar(20) primary key,
  category_id integer references category,
  title text not null,
  price decimal(10, 2) not null check (price >= 0),
  weight real,
  size text not null default 'M' check (size in ('S', 'M', 'L', 'XL')),
  image blob,
  extra
) without rowid;
create index product_title_lower on product (lower(title));
create table related_product (
  product_sku varchar(20) not null references product on delete cascade,
  related_sku varchar(20) not null references product on delete cascade,
  primary key (product_sku, related_sku)
);
create table "order" (
  id integer primary key,
  customer_id bigint not null references customer on delete restrict on update cascade,
  state text not null default 'draft' check (state in ('draft', 'placed', 'it''s paid')),
  total numeric,
  placed_at timestamp
);
create table order_line (
  order_id integer not null references "order" on delete cascade,
  position int not null,
  sku varchar(20) not null references product,
  quantity int not null default 1,
  price double not null,
  primary key (order_id, position)
);
create table customer_profile (
  customer_id integer primary key references customer on delete cascade,
  nickname varchar(30),
  favourite_sku varchar(20) unique references product
);
create table legacy_counter (name text not null, value int not null, number int primary key);
create table visit (at datetime not null, url text not null);
create view open_order as select * from "order" where state = 'placed';
create virtual table product_text using fts5(title);

insert into customer (email, first_name, last_name) values ('ada@example.com', 'Ada', 'Lovelace'), ('bob@example.com', 'Bob', 'Builder');
insert into category values (1, null, 'Garden'), (2, 1, 'Tools');
insert into product (sku, category_id, title, price) values ('A-1', 2, 'Spade', 19.90), ('A-2', 2, 'Rake', 9);
insert into related_product values ('A-1', 'A-2');
insert into "order" (customer_id, state, total, placed_at) values (1, 'placed', 28.9, '2026-01-02 03:04:05');
