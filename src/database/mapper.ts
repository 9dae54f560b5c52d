import type { MikroORM } from '@mikro-orm/core';
import type { SqlEntityManager } from '@mikro-orm/sql';

/** MikroORM with its metadata discovered. It connects when the first statement is sent. */
// biome-ignore lint/suspicious/noExplicitAny: the driver is chosen at start
export type Mapper = MikroORM<any, RequestEntityManager>;

/** The entity manager of one request. */
// biome-ignore lint/suspicious/noExplicitAny: see Mapper
export type RequestEntityManager = SqlEntityManager<any>;
