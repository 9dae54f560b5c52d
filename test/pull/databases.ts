import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { loadApplication } from '../../src/application.ts';
import { prepareDatabase } from '../../src/database/prepare-database.ts';
import { writeFiles } from '../cli/applications.ts';
import { call } from '../cli/call.ts';
import type { DatabaseKind, FreshDatabase } from '../support/databases.ts';

/** The statements that create a sample schema. */
export function schemaSql(name: string, kind: DatabaseKind): string {
  return readFileSync(join(import.meta.dirname, 'schemas', `${name}.${kind}.sql`), 'utf8');
}

/** Runs statements in a database. */
export async function runSql(kind: DatabaseKind, { url }: Pick<FreshDatabase, 'url'>, sql: string): Promise<void> {
  if (kind === 'sqlite') {
    const database = new DatabaseSync(url.slice('sqlite:'.length));
    database.exec(sql);
    database.close();
    return;
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Pulls a database into an empty folder. */
export async function pullInto(url: string, ...options: string[]) {
  const directory = writeFiles({});
  return { directory, ...(await call(['pull', directory, '--from', url, ...options])) };
}

/** Starts an application as far as its schema check; throws the differences. */
export async function checkSchema(directory: string, url: string): Promise<void> {
  const { declaration, mapper } = await loadApplication({ directory, env: { DATABASE_URL: url } });
  try {
    await prepareDatabase(mapper, declaration.database, { directory, seed: null });
  } finally {
    await mapper.close(true);
  }
}

/** Does what the docs say after a pull: uncomments every API, and adds groups to every property. Views are only read. */
export function openModels(directory: string, methods: string[]): void {
  const config = join(directory, 'config/apis.yaml');
  const declared = readFileSync(config, 'utf8').replace(/^ {4}# (?!\w+ has no API)/gm, '    ');
  const sources = readdirSync(join(directory, 'src/models')).map((file) =>
    readFileSync(join(directory, 'src/models', file), 'utf8'),
  );
  const views = sources.filter((text) => text.includes('  view: true,')).map((text) => /export const (\S+)/.exec(text)?.[1]);
  const opened = declared.replace(
    /(class: (.+)[\s\S]*?_index: \{ methods: )\{.*?\}([\s\S]*?_entity: \{ methods: )\{.*?\}/g,
    (_, start: string, model: string, middle: string) => {
      const allowed = views.includes(model) ? ['GET'] : methods;
      const list = methodsOf(allowed.filter((method) => method !== 'PATCH'));
      return `${start}${list}${middle}${methodsOf(allowed.filter((method) => method !== 'POST'))}`;
    },
  );
  writeFileSync(config, opened);
  for (const file of readdirSync(join(directory, 'src/models'))) {
    const path = join(directory, 'src/models', file);
    const grouped = (text: string) =>
      text.replace(
        /^( {4}\p{L}[\p{L}\p{N}]*: (?:\(\) => )?p\..*),$/gmu,
        (_, line: string) => `${line}${line.includes('.generated(') ? ".groups('read')" : ".groups('read', 'write')"},`,
      );
    writeFileSync(path, grouped(readFileSync(path, 'utf8')));
  }
}

const methodsOf = (names: string[]) => `{ ${names.map((name) => `${name}: true`).join(', ')} }`;
