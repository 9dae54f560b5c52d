import { fileName } from './names.ts';
import type { PlannedModel } from './plan.ts';

const schemaComment = '# yaml-language-server: $schema=../node_modules/declarest/schema/app-main.schema.json';

export const packageJson = `${JSON.stringify({ private: true, type: 'module' }, null, 2)}\n`;

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
  const lines = models.flatMap(({ className, withoutApi }) => {
    if (withoutApi !== null) return ['', `    # ${className} has no API: ${withoutApi.replace(/[\r\n]+/g, ' ')}.`];
    const path = fileName(className);
    return [
      '',
      `    # ${path.replaceAll('-', '_')}:`,
      `    #   class: ${className}`,
      `    #   base_path: /api/${path}`,
      '    #   base_role: ROLE_USER',
      '    #   actions:',
      '    #     _index: { methods: { GET: true, HEAD: true } }',
      '    #     _entity: { methods: { GET: true, HEAD: true } }',
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
