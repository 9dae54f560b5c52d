import { type CheckContext, check } from '../../src/declaration/check.ts';
import { resolvePlaceholders } from '../../src/declaration/placeholders.ts';
import { Report } from '../../src/declaration/report.ts';
import { root, routes } from '../../src/declaration/schema/schema.ts';
import type { Shape } from '../../src/declaration/shape.ts';
import { codeSource } from '../../src/declaration/source.ts';
import type { Exported } from '../../src/declaration/types.ts';

const secret = 'a secret of thirty-two characters or more';
const environment = { JWT_SECRET: secret, REPORTING_KEY: secret, METRICS_KEY: secret };

const known = (...names: string[]): Exported[] =>
  [...new Set(names)].map((name) => ({ name, qualifiedName: `src/x#${name}`, value: class {} }));

/** What is wrong with a documented piece of configuration, its classes taken on trust: some that pages share, and those that are given. */
export function checkYaml(value: unknown, classes: readonly string[] = []): string[] {
  if (value === null) return [];
  const report = new Report(codeSource({}));
  const catalog = {
    models: known('Person', 'Course', 'Center', 'Tag', 'Document', 'Note', ...classes),
    controllers: known('PersonController', 'CourseController', 'NamedController', ...classes),
    voters: [],
    denormalizers: [],
    normalizers: [],
    authenticators: known('SessionAuthenticator', ...classes),
    services: [],
  };
  const shape: Shape = isRoutes(value) ? routes : root;
  const resolved = withoutPlaceholders(value, (message) => report.add([], message));
  check(shape, resolved, [], { report, catalog } satisfies CheckContext);
  return report.errors.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

function isRoutes(value: unknown): boolean {
  return Object.values(value as object).every((entry) => typeof entry === 'object' && entry !== null && 'resource' in entry);
}

function withoutPlaceholders(value: unknown, fail: (message: string) => void): unknown {
  if (typeof value === 'string') return resolvePlaceholders(value, environment, fail);
  if (Array.isArray(value)) return value.map((item) => withoutPlaceholders(item, fail));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutPlaceholders(item, fail)]));
}
