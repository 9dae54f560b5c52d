import { cpSync, mkdtempSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Files, smallApplication, write } from './applications.ts';

/** The small application with properties of its model, and a database. */
export function modelFiles(properties: string, { url, schema = 'check' }: { url: string; schema?: string }): Files {
  return {
    'config/database.yaml': `app_main: { database: { url: '${url}', schema: ${schema} } }\n`,
    'src/models/person.ts': `import { defineEntity, p } from '@mikro-orm/core';
export const Person = defineEntity({
  name: 'Person',
  properties: { id: p.integer().primary().groups('read'), ${properties} },
});
`,
  };
}

export function migratedApplication(properties: string, database: { url: string; schema?: string }): string {
  return smallApplication(modelFiles(properties, database));
}

/** The next version of an application, in a directory of its own: a process loads a module once. */
export function nextVersion(directory: string, files: Files): string {
  const next = mkdtempSync(join(dirname(directory), 'app-'));
  cpSync(directory, next, { recursive: true, filter: (path) => !path.includes('/var') });
  for (const [name, text] of Object.entries(files)) if (text !== null) write(next, name, text);
  return next;
}

/** The names of an application's migrations. */
export function migrationsIn(directory: string): string[] {
  return readdirSync(join(directory, 'migrations'))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.replace(/\.ts$/, ''))
    .sort();
}

/** A migration that runs statements of its own. */
export function migrationText(name: string, up: readonly string[], down: readonly string[] = []): string {
  const added = (statements: readonly string[]) => statements.map((sql) => `this.addSql(${JSON.stringify(sql)});`).join(' ');
  return `import { Migration } from '@mikro-orm/migrations';
export class ${name} extends Migration {
  async up() { ${added(up)} }
  async down() { ${added(down)} }
}
`;
}
