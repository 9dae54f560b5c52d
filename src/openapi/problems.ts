import { catalogue, type ErrorCode } from '../errors.ts';
import { STATUS_CODES } from '../response/problem-document.ts';
import { type JsonSchema, objectSchema } from './json-schema.ts';
import type { Components } from './schemas/components.ts';

/** The content of a problem for requests of a format; only JSON has a schema. */
export function problemContent(format: string, schema: JsonSchema): JsonSchema {
  return format === 'xml'
    ? { 'application/problem+xml': { schema: { type: 'string' } } }
    : { 'application/problem+json': { schema } };
}

export type ProblemStatus = (typeof catalogue)[ErrorCode]['status'];

export function problemResponse(status: ProblemStatus, format: string): JsonSchema {
  return { $ref: `#/components/responses/${responseName(status, format)}` };
}

function responseName(status: ProblemStatus, format: string): string {
  return `${nameOf(status)}${format === 'xml' ? 'Xml' : ''}`;
}

/** The error responses of all given statuses, by name, each with its headers. */
export function problemResponses(
  statuses: Iterable<ProblemStatus>,
  components: Components,
  headersOf: (status: ProblemStatus) => JsonSchema,
  format: string,
  ofItems = false,
): Record<string, JsonSchema> {
  const described = (status: ProblemStatus): JsonSchema => ({
    description: `${[...new Set(codesOf(status).map((code) => catalogue[code].title))].join(', ')}.`,
    ...headersOf(status),
    content: problemContent(format, format === 'xml' ? {} : problemSchema(status, components, ofItems)),
  });
  return Object.fromEntries([...statuses].sort().map((status) => [responseName(status, format), described(status)]));
}

function nameOf(status: ProblemStatus): string {
  return (STATUS_CODES[status] ?? String(status)).replace(/\W/g, '');
}

function codesOf(status: ProblemStatus): ErrorCode[] {
  return (Object.keys(catalogue) as ErrorCode[]).filter((code) => catalogue[code].status === status);
}

const itemIndex = {
  type: 'integer',
  minimum: 0,
  description: 'The position of the item with the problem, if the body is a list.',
};

/** One schema for each status, so that a client knows which codes to expect. */
function problemSchema(status: ProblemStatus, components: Components, ofItems: boolean): JsonSchema {
  // errors of application code have this code, whatever their status
  const known = [...new Set<ErrorCode>([...codesOf(status), 'bad_request'])];
  const violations = { type: 'array', items: violationSchema(components) };
  const validated = status === catalogue.validation_failed.status;
  return components.add(
    `${nameOf(status)}Problem`,
    documentSchema(
      { const: status },
      { enum: known },
      { ...(validated && { violations }), ...(ofItems && { index: itemIndex }) },
    ),
  );
}

/** The name of the schema for error responses with any status. */
export const otherProblem = 'OtherProblem';

export function anyProblemSchema(components: Components): JsonSchema {
  return components.add(otherProblem, documentSchema({ minimum: 400 }, {}));
}

function documentSchema(status: JsonSchema, code: JsonSchema, further: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  const text = { type: 'string' };
  const schema = objectSchema(
    {
      type: { ...text, format: 'uri-reference' },
      title: text,
      status: { type: 'integer', ...status },
      detail: { ...text, description: 'What is wrong, and how to fix it.' },
      instance: { ...text, format: 'uri-reference', description: 'The path of the request.' },
      code: { ...text, ...code },
      ...further,
    },
    ['type', 'title', 'status', 'detail', 'instance', 'code'],
  );
  return { ...schema, additionalProperties: true };
}

function violationSchema(components: Components): JsonSchema {
  return components.add(
    'Violation',
    objectSchema(
      {
        propertyPath: { type: 'string', description: 'The field, such as `address.city` or `tags[0]`.' },
        title: { type: 'string' },
        code: { type: 'string' },
        parameters: { type: 'object', additionalProperties: true },
      },
      ['propertyPath', 'title', 'code', 'parameters'],
    ),
  );
}
