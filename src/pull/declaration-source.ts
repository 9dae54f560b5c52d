import type { InventoryTable } from '../database/schema/inventory.ts';
import { pathName, takeName } from './names.ts';
import type { PlannedModel } from './plan.ts';

const schemaComment = '# yaml-language-server: $schema=../node_modules/declarest/schema/app-main.schema.json';

/** A package.json with which the application can be installed and started. */
export function packageJson(dependencies: Readonly<Record<string, string>>): string {
  const scripts = { start: 'declarest serve', dev: 'declarest dev', check: 'declarest check' };
  return `${JSON.stringify({ private: true, type: 'module', scripts, dependencies }, null, 2)}\n`;
}

/** The password of a database belongs into the environment. */
export const appYaml = `${schemaComment}
app_main:
  database:
    url: '%env(DATABASE_URL)%'
    schema: check
`;

export const routesYaml = `app_cruds:
  resource: 'app_main_crud_route_loader:load'
  type: service
`;

/** Commented-out APIs of models. */
export function apisYaml(models: readonly PlannedModel[]): string {
  const taken = new Set<string>();
  const lines = models.flatMap(({ className, table, withoutApi }) => {
    if (withoutApi !== null) return ['', `    # ${className} has no API: ${withoutApi.replace(/[\r\n]+/g, ' ')}.`];
    const path = takeName([pathName(className)], taken);
    return [
      '',
      `    # ${path.replaceAll('-', '_')}:`,
      `    #   class: ${className}`,
      `    #   base_path: /api/${path}`,
      '    #   base_role: ROLE_USER',
      '    #   actions:',
      '    #     _index: { methods: { GET: true, HEAD: true } }',
      `    #     _entity: { methods: { GET: true, HEAD: true }${requirementsOf(table)} }`,
    ];
  });
  return `${schemaComment}
# Remove the number signs before an API to serve its model. No field is in a group yet, so responses are empty
# until you add groups to the properties that callers may read: .groups('read').
app_main:
  apis:
${lines.slice(1).join('\n')}
`;
}

/** Without a requirement, ids are digits. Declarest knows the parts of a composite key. */
function requirementsOf({ columns, primaryKey }: InventoryTable): string {
  const key = primaryKey.length === 1 ? columns.find(({ name }) => name === primaryKey[0]) : undefined;
  if (!key || !('builder' in key.mapping) || /^(?:(?:tiny|small|medium)int|integer|bigint)\b/.test(key.mapping.builder))
    return '';
  return `, requirements: { id: '${/^uuid\b/.test(key.mapping.builder) ? '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' : '.+'}' }`;
}
