import type { TableName } from '../database/schema/catalogue.ts';

export function labelOf({ name, schema }: TableName): string {
  return schema === null ? name : `${schema}.${name}`;
}

/** The schema whose tables need no schema in their names. */
export const defaultSchema = 'public';

export function keyOf({ name, schema }: TableName): string {
  return JSON.stringify([schema ?? defaultSchema, name]);
}
