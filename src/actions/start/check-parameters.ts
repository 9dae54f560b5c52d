import type { Findings } from '../../declaration/report.ts';
import { listed } from '../../declaration/suggest.ts';
import type { ActionDeclaration, ApiDeclaration, ParameterDeclaration, ParameterLiteral } from '../../declaration/types.ts';
import { reservedParameters } from '../../response/list-request.ts';
import { checkRequirement } from '../../route/requirement.ts';
import { textReader } from '../../serialization/parameter-reader.ts';

/** Reports query parameters whose names are taken, or whose keys contradict each other. */
export function checkDeclaredParameters(apis: readonly ApiDeclaration[], findings: Pick<Findings, 'add'>): void {
  for (const { actions } of apis) {
    for (const action of actions) {
      for (const parameter of action.parameters) {
        checkName(action, parameter, findings);
        checkKeys(parameter, (key, message) => findings.add([...parameter.path, key], `"${key}" ${message}`));
      }
    }
  }
}

function checkName({ list }: ActionDeclaration, { name, path }: ParameterDeclaration, findings: Pick<Findings, 'add'>): void {
  if (reservedParameters.includes(name)) {
    const message = `the query parameter "${name}" is reserved; choose a name other than: ${listed(reservedParameters)}`;
    findings.add(path, message, 'key');
  } else if (list?.filters.some(({ field }) => field === name)) {
    findings.add(
      path,
      `the query parameter "${name}" is a filter of this list; choose another name, or remove the filter`,
      'key',
    );
  }
}

type Trouble = (key: string, message: string) => void;

const numeric: readonly string[] = ['integer', 'number'];

function checkKeys(parameter: ParameterDeclaration, trouble: Trouble): void {
  const { default: fallback, enum: allowed, maximum, minimum, pattern, required, type } = parameter;
  if (required && fallback !== null) trouble('default', 'is never used, because the parameter is required; remove one of them');
  if (minimum !== null && !numeric.includes(type))
    trouble('minimum', `is allowed for the types integer and number, not for ${type}`);
  if (maximum !== null && !numeric.includes(type))
    trouble('maximum', `is allowed for the types integer and number, not for ${type}`);
  if (minimum !== null && maximum !== null && minimum > maximum)
    trouble('minimum', `(${minimum}) is greater than "maximum" (${maximum})`);
  const isPatternWrong = pattern !== null && checkPattern(pattern, type, trouble);
  if (allowed.length > 0 && (type === 'boolean' || type === 'datetime')) trouble('enum', `is not allowed for the type ${type}`);
  if (isPatternWrong) return;
  const free = textReader({ ...parameter, enum: [], list: false });
  const wrong = allowed.filter((value) => !isOf(type, value) || free(String(value)) === undefined);
  if (wrong.length > 0) trouble('enum', `has values that this ${type} parameter does not allow: ${shown(wrong)}`);
  else if (fallback !== null) checkDefault(parameter, fallback, trouble);
}

function checkPattern(pattern: string, type: string, trouble: Trouble): boolean {
  const reason = type === 'string' ? checkRequirement(pattern) : `is allowed for the type string, not for ${type}`;
  if (reason === null) return false;
  trouble('pattern', reason);
  return true;
}

function checkDefault(
  parameter: ParameterDeclaration,
  fallback: NonNullable<ParameterDeclaration['default']>,
  trouble: Trouble,
): void {
  const { list, type } = parameter;
  if (Array.isArray(fallback) !== list) {
    const remedy = 'must be a single value; add "list: true" to allow several';
    trouble('default', list ? 'must be a list, because the parameter has "list: true"' : remedy);
    return;
  }
  const read = textReader({ ...parameter, list: false });
  const wrong = [fallback].flat().filter((value) => !isOf(type, value) || read(String(value)) === undefined);
  if (wrong.length > 0) trouble('default', `has a value that this ${type} parameter does not allow: ${shown(wrong)}`);
}

/** Whether a value has the JSON type of the parameter, because the OpenAPI document contains it as it is. */
function isOf(type: ParameterDeclaration['type'], value: ParameterLiteral): boolean {
  if (numeric.includes(type)) return typeof value === 'number';
  return typeof value === (type === 'boolean' ? 'boolean' : 'string');
}

function shown(values: readonly ParameterLiteral[]): string {
  return listed(values.map((value) => JSON.stringify(value)));
}
