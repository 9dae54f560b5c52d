import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

/** The measured parts of an application, each with the parts that it needs. */
export const parts = ['models', 'declarations', 'client'] as const;
export type Part = (typeof parts)[number];

/**
 * Writes an application with the given number of models, each with associations to its neighbours in a ring, and an API declared
 * by `defineApis`. It can be started. Its folder must be in the repository, so that the import "declarest" is resolved.
 */
export function writeApplication(directory: string, amount: number): void {
  rmSync(directory, { recursive: true, force: true });
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  };
  const numbers = Array.from({ length: amount }, (_, index) => index);
  for (const n of numbers) {
    write(`src/models/model${n}.ts`, modelText(n, amount));
    write(`src/controllers/controller${n}.ts`, controllerText(n));
  }
  write('src/voters/model-voter.ts', voterText(numbers));
  write('config/apis.ts', apisText(numbers, amount));
  write('config/routes.yaml', "app_cruds:\n  resource: 'app_main_crud_route_loader:load'\n  type: service\n");
  write('declarest.ts', packageText);
  for (const part of parts) write(`tsconfig.${part}.json`, JSON.stringify(configOf(part, directory), null, 2));
}

/** Only groups of three models embed each other: the whole ring would be embedded endlessly. */
function isShown(n: number, property: 'next' | 'others', amount: number): boolean {
  return property === 'next' ? n % 3 < 2 && n + 1 < amount : n % 3 === 0 && n + 2 < amount;
}

function modelText(n: number, amount: number): string {
  const near = (n + 1) % amount;
  const far = (n + 2) % amount;
  const groups = (property: 'next' | 'others') => (isShown(n, property, amount) ? "'read', 'write'" : "'write'");
  const others = [...new Set([near, far])].filter((other) => other !== n);
  return `import { defineEntity, p } from '@mikro-orm/core';
${others.map((other) => `import { Model${other} } from './model${other}.ts';\n`).join('')}
const schema = defineEntity({
  name: 'Model${n}',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(80).groups('read', 'write'),
    note: p.text().nullable().groups('read', 'write').serializedName('remark'),
    size: p.integer().nullable().groups('read', 'write'),
    made: p.datetime(3).groups('read', 'write'),
    active: p.boolean().default(true).groups('read', 'write'),
    kind: p.enum(['small', 'large']).groups('read', 'write'),
    next: () => p.manyToOne(Model${near}).nullable().groups(${groups('next')}),
    others: () => p.manyToMany(Model${far}).groups(${groups('others')}),
  },
});

export class Model${n} extends schema.class {}
schema.setClass(Model${n});
`;
}

function controllerText(n: number): string {
  return `import { ApiController } from 'declarest';

export class Controller${n} extends ApiController {
  closeApi(): object {
    return {};
  }

  reopen(): object {
    return {};
  }
}
`;
}

function voterText(numbers: readonly number[]): string {
  return `import { type Vote, Voter } from 'declarest';

export class ModelVoter extends Voter {
  static override roles = [${numbers.map((n) => `'MODEL${n}_SEE', 'MODEL${n}_CHANGE'`).join(', ')}] as const;

  override vote(): Vote {
    return 'grant';
  }
}
`;
}

function apisText(numbers: readonly number[], amount: number): string {
  return `import { defineApis } from 'declarest';
${numbers.map((n) => `import { Controller${n} } from '../src/controllers/controller${n}.ts';`).join('\n')}
${numbers.map((n) => `import { Model${n} } from '../src/models/model${n}.ts';`).join('\n')}
import { ModelVoter } from '../src/voters/model-voter.ts';

export default {
  app_main: {
    database: { url: 'sqlite::memory:' },
    apis: defineApis(
      {
${numbers.map((n) => apiText(n, amount)).join('')}      },
      { voters: [ModelVoter] },
    ),
  },
};
`;
}

function apiText(n: number, amount: number): string {
  const next = isShown(n, 'next', amount) ? 'next.name' : 'name';
  const beyond = next === 'next.name' && isShown(n + 1, 'next', amount) ? 'next.next.name' : 'made';
  const others = isShown(n, 'others', amount) ? 'others.name' : 'remark';
  return `        model${n}: {
          class: Model${n},
          base_path: '/api/model${n}',
          controller: Controller${n},
          base_role: 'MODEL${n}_SEE',
          filters: { id: ['in'], remark: ['contains'], size: ['lt', 'gt'], '${next}': ['eq'], '${beyond}': ['eq'] },
          sort: ['id', 'size', '${next}', '${beyond}'],
          search: ['name', '${others}'],
          default_sort: ['-made', 'next.note', 'next.next.size'],
          actions: {
            _index: { methods: { GET: true, POST: true }, roles: { POST: 'MODEL${n}_CHANGE' } },
            _entity: { methods: { GET: true, PATCH: true, DELETE: true }, roles: { PATCH: 'MODEL${n}_CHANGE', DELETE: 'ROLE_ADMIN' } },
            other: { association: { property: 'others' }, roles: { POST: 'MODEL${n}_CHANGE' } },
            close: { methods: { POST: true } },
            reopen: { methods: { POST: true }, controller_action: 'reopen' },
          },
        },
`;
}

/** The parts of the package that the declarations use: the compiler would check its other sources with every application. */
const packageText = `export { defineApis } from ${JSON.stringify(join(root, 'src', 'declaration', 'define-apis.ts'))};

export type Vote = 'grant' | 'deny' | 'abstain';

export abstract class Voter {
  static readonly roles: readonly string[] = [];
  abstract vote(): Vote;
}

export class ApiController {
  indexApi(): void {}
  entityApi(): void {}
}
`;

function configOf(part: Part, directory: string): object {
  const declarest = { declarest: [join(directory, 'declarest.ts')] };
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      types: [],
      // a client uses fetch of its environment
      ...(part === 'client' ? { lib: ['es2024', 'dom', 'dom.asynciterable'] } : { paths: declarest }),
    },
    include: { models: ['src/models'], declarations: ['config'], client: ['client.ts'] }[part],
    exclude: [],
  };
}
