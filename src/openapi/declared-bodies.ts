import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { BodyCheck } from '../actions/start/body-check.ts';
import type { ActionDeclaration, Path, StandardSchema } from '../declaration/types.ts';
import { type Violation, violationsProblem } from '../errors.ts';
import type { JsonSchema } from './json-schema.ts';
import { type SchemaSource, type Schemas, schemasOf } from './schemas/schemas.ts';

/** Larger bodies are reported with their first violation only: they can have very many. */
const largestForAll = 65_536;

/** The checks of declared bodies, by action. They use the schemas of the document. */
export function bodyChecks(source: SchemaSource): ReadonlyMap<ActionDeclaration, BodyCheck> {
  const schemas = schemasOf(source);
  const declared = declaredBodies(source, schemas);
  const document = documentOf(schemas);
  return new Map(
    declared.map(({ action, body, schema }) => [
      action,
      body.kind === 'standard' ? standardCheck(body.schema) : schemaCheck(schema, document),
    ]),
  );
}

export function checkDeclaredBodies(source: SchemaSource, report: { add(path: Path, message: string): void }): void {
  const schemas = schemasOf(source);
  for (const { action, schema } of declaredBodies(source, schemas).filter(({ body }) => body.kind === 'json')) {
    try {
      validatorOf(schema, documentOf(schemas), false);
    } catch (error) {
      report.add([...action.path, 'body'], `"body" is not a usable JSON Schema: ${(error as Error).message}`);
    }
  }
}

function declaredBodies({ declaration: { apis } }: SchemaSource, schemas: Schemas) {
  return apis.flatMap((api) =>
    api.actions.flatMap((action) => {
      const { body } = action;
      return body ? [{ action, body, schema: schemas.body(api, action, body) }] : [];
    }),
  );
}

function documentOf({ components }: Schemas): object {
  return { components: { schemas: components.schemas() } };
}

function standardCheck(schema: StandardSchema): BodyCheck {
  return async ({ body }) => {
    const { issues, value } = await schema['~standard'].validate(body);
    if (!issues || issues.length === 0) return value;
    const violations = issues.map(({ message, path = [] }) => ({
      propertyPath: pathText(path.map((part) => (typeof part === 'object' ? part.key : part))),
      title: message,
      code: 'constraint',
      parameters: {},
    }));
    throw violationsProblem(violations);
  };
}

function schemaCheck(schema: JsonSchema, document: object): BodyCheck {
  const first = validatorOf(schema, document, false);
  let all: ValidateFunction | null = null;
  return ({ body, headers }) => {
    if (first(body)) return body;
    let errors = first.errors ?? [];
    if (Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= largestForAll) {
      all ??= validatorOf(schema, document, true);
      all(body);
      errors = all.errors ?? errors;
    }
    throw violationsProblem(withoutBranches(errors).map(violationOf));
  };
}

function validatorOf(schema: JsonSchema, document: object, allErrors: boolean): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors, logger: false });
  (formats as unknown as (ajv: Ajv2020) => void)(ajv);
  ajv.addFormat('decimal', true);
  ajv.addSchema(document, 'document');
  const { $ref } = schema;
  return ajv.compile(typeof $ref === 'string' ? { $ref: `document${$ref}` } : schema);
}

/** If a value matches none of several schemas, the violations of each of them are left out. */
function withoutBranches(errors: readonly ErrorObject[]): ErrorObject[] {
  const choices = errors.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf');
  return errors.filter(
    (error) => !choices.some((choice) => choice !== error && error.instancePath.startsWith(choice.instancePath)),
  );
}

const codes: Readonly<Record<string, string>> = {
  required: 'required',
  type: 'type',
  enum: 'enum',
  const: 'enum',
  maxLength: 'too_long',
  minimum: 'range',
  maximum: 'range',
  exclusiveMinimum: 'range',
  exclusiveMaximum: 'range',
};

function violationOf({ instancePath, keyword, message = 'is not allowed', params }: ErrorObject): Violation {
  const keys = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const { missingProperty, additionalProperty } = params as Record<string, unknown>;
  const further = missingProperty ?? additionalProperty ?? [];
  const named = [keys, further].flat().map(String);
  return {
    propertyPath: pathText(named.map((key) => (/^\d+$/.test(key) ? Number(key) : key))),
    title: missingProperty !== undefined ? 'is required' : additionalProperty !== undefined ? 'is unknown' : message,
    code: codes[keyword] ?? 'constraint',
    parameters: {},
  };
}

function pathText(keys: readonly PropertyKey[]): string {
  return keys.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}${text === '' ? '' : '.'}${String(key)}`),
    '',
  );
}
