import type { Findings } from '../declaration/report.ts';
import type { HttpMethod } from '../declaration/types.ts';
import { type PathPattern, parsePath, placeholdersOf, shapeOf } from './pattern.ts';
import type { RouteRecord } from './record.ts';
import { checkRequirement } from './requirement.ts';

type RouteReport = Pick<Findings, 'add'> & Partial<Findings>;

/**
 * Reports the errors of routes: duplicate names, duplicate paths, malformed paths, unusable requirements. If a record is not
 * sound, because an error in its name or path was reported before, only its requirements are checked.
 */
export function checkRoutes(
  records: readonly RouteRecord[],
  report: RouteReport,
  isSound: (record: RouteRecord) => boolean = () => true,
): void {
  const names = new Map<string, RouteRecord>();
  const places = new Map<string, RouteRecord>();
  // a check is slow, and many APIs have the same requirement
  const checked = new Map<string, string | null>();
  for (const record of records) {
    const { pattern, errors } = parsePath(record.path);
    checkRequirements(record, pattern, report, checked);
    if (!isSound(record)) continue;
    checkName(record, names, report);
    for (const error of errors) report.add(record.source, error);
    if (errors.length === 0) checkPlace(record, places, report);
  }
}

function checkName(record: RouteRecord, names: Map<string, RouteRecord>, report: RouteReport): void {
  const other = names.get(record.name);
  if (other === undefined) names.set(record.name, record);
  else {
    report.add(
      record.source,
      `the route name "${record.name}" is already taken by the route at ${other.path}; rename the API, the action or the route`,
    );
  }
}

function checkPlace(record: RouteRecord, places: Map<string, RouteRecord>, report: RouteReport): void {
  const { pattern } = parsePath(record.path);
  const clashes = new Map<RouteRecord, Set<HttpMethod>>();
  for (const suffix of pattern.formatted ? record.formats.map((format) => `.${format}`) : ['']) {
    const shape = shapeOf(pattern, suffix);
    for (const method of record.methods) {
      const key = `${method} ${shape}`;
      const other = places.get(key);
      if (other === undefined) places.set(key, record);
      else if (other !== record) clashes.set(other, (clashes.get(other) ?? new Set()).add(method));
    }
  }
  for (const [other, methods] of clashes) {
    report.add(
      record.source,
      `${[...methods].join(', ')} ${record.path} of the route "${record.name}" is already handled by the route "${other.name}" ` +
        `(${other.path}), because names of placeholders do not matter; change a path or disable the method on one of them`,
    );
  }
}

function checkRequirements(
  record: RouteRecord,
  pattern: PathPattern,
  report: RouteReport,
  checked: Map<string, string | null>,
): void {
  const placeholders = placeholdersOf(pattern);
  const declared = record.action?.requirements ?? record.definition?.requirements ?? {};
  const at = (name: string) => (record.action ? [...record.source, 'requirements', name] : record.source);
  for (const [name, source] of Object.entries(declared)) {
    if (record.action && report.touches?.(at(name))) continue;
    if (placeholders.includes(name) || (name === '_format' && pattern.formatted)) {
      const error = checked.has(source) ? (checked.get(source) as string | null) : checkRequirement(source);
      checked.set(source, error);
      if (error !== null) report.add(at(name), `the requirement "${source}" of {${name}} ${error}`);
      else if (record.formats.length === 0)
        report.add(
          at(name),
          `no format matches the requirement "${source}" of {${name}}; formats are declared under app_main.formats`,
        );
    } else if (name !== 'id') {
      // An id requirement on an action without an id is harmless: empty requirements already mean that an id is digits.
      const known = placeholders.length === 0 ? 'none' : placeholders.map((placeholder) => `{${placeholder}}`).join(', ');
      report.add(at(name), `unknown placeholder {${name}} in "requirements"; ${record.path} has: ${known}`);
    }
  }
}
