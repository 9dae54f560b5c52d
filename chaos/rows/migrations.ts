import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { command } from '../../scripts/command.ts';
import { writeApplication } from '../application.ts';
import { freshDatabase } from '../database.ts';
import { both, type Row } from '../row.ts';

/** A migration with many statements, which prints a line when it begins. */
function longMigration(name: string, statements: readonly string[], inserts: number): string {
  return `import { Migration } from '@mikro-orm/migrations';
export class ${name} extends Migration {
  async up() {
    console.log('begun');
    for (const sql of ${JSON.stringify(statements)}) this.addSql(sql);
    for (let i = 0; i < ${inserts}; i++) this.addSql(\`insert into step (name) values ('${name}')\`);
  }
  async down() {
    this.addSql(\`delete from step where name = '${name}'\`);
    ${statements.length > 0 ? "this.addSql('drop table step');" : ''}
  }
}
`;
}

export const migrationRows: readonly Row[] = [
  {
    name: 'kill -9 during a migration',
    must: 'the database is as before or after the migrations, and the next run completes',
    kinds: both,
    async run(surroundings) {
      const times = surroundings.quick ? 1 : 40;
      // takes about the same time on both databases
      const rowsEach = surroundings.kind === 'sqlite' ? 4000 : 150;
      const database = await freshDatabase(surroundings);
      const directory = writeApplication(surroundings.root, database.url, {}, { schema: 'migrate' });
      const migrate = (...args: string[]) =>
        spawnSync(process.execPath, [command, 'migrate', ...args, directory], { encoding: 'utf8' });
      migrate('create');
      const created = migrate('up');
      const names = ['Migration29990101000000_first', 'Migration29990101000001_second'] as const;
      const files = names.map((name, index) =>
        longMigration(name, index === 0 ? ['create table step (id integer, name varchar(100))'] : [], rowsEach),
      );
      for (const [index, name] of names.entries())
        writeFileSync(join(directory, 'migrations', `${name}.ts`), files[index] as string);
      const applied = async () =>
        (await database.query("select name from mikro_orm_migrations where name like 'Migration2999%'")).length;
      const rows = () =>
        database.query('select 1 from step').then(
          ({ length }) => length,
          () => 0,
        );
      const seen = { before: 0, after: 0, between: 0, stuck: 0 };
      for (let i = 0; i < times; i++) {
        const child = spawn(process.execPath, [command, 'migrate', 'up', directory], { stdio: ['ignore', 'pipe', 'ignore'] });
        const ended = once(child, 'exit');
        await Promise.race([once(child.stdout, 'data'), ended]);
        await sleep(Math.random() * 200);
        child.kill('SIGKILL');
        await ended;
        // the server may still execute statements of the killed process
        if (surroundings.kind === 'postgresql')
          await database.query("select pg_advisory_xact_lock(hashtext('declarest'), hashtext(current_schema()))");
        const [count, found] = [await applied(), await rows()];
        if (count === 0 && found === 0) seen.before++;
        else if (count === names.length && found === names.length * rowsEach) seen.after++;
        else seen.between++;
        migrate('up');
        if ((await applied()) !== names.length || (await rows()) !== names.length * rowsEach) seen.stuck++;
        for (const _ of names) migrate('down');
        if ((await applied()) !== 0) seen.stuck++;
      }
      const { after, before, between, stuck } = seen;
      return {
        seen: `${times} kills: ${before} as before, ${after} as after, ${between} between; ${stuck} did not complete`,
        pass: created.status === 0 && between === 0 && stuck === 0,
      };
    },
  },
];
