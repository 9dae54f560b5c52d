import { parse } from 'pg-connection-string';
import type { DatabaseDeclaration } from '../../declaration/types.ts';

/** A setting of a PostgreSQL session. */
export type Setting = readonly [name: string, value: string];

/** Text formats that the serializers can read. The server's time zone stays, as conditions of an application may depend on it. */
export const textFormats: readonly Setting[] = [
  ['datestyle', 'ISO'],
  ['bytea_output', 'hex'],
  ['extra_float_digits', '1'],
];

/** `-c name=value` or `--name=value`; a backslash escapes a blank. */
const optionPattern = /(?:^|\s)(?:-c\s*|--)([\w.]+)=((?:\\.|[^\s\\])*)(?=\s|$)/g;

/** The settings that an application declares: by keys, and by `options` in its URL. */
export function declaredSettings({
  readOnly,
  statementTimeout,
  url,
}: Pick<DatabaseDeclaration, 'readOnly' | 'statementTimeout' | 'url'>): readonly Setting[] {
  const { options = '' } = parse(url);
  const given = Array.from(
    options.matchAll(optionPattern),
    ([, name, value]): Setting => [name as string, (value as string).replace(/\\(.)/g, '$1')],
  );
  return [
    ...given,
    ...(statementTimeout > 0 ? ([['statement_timeout', String(statementTimeout)]] satisfies Setting[]) : []),
    ...(readOnly ? ([['default_transaction_read_only', 'on']] satisfies Setting[]) : []),
  ];
}

/** The statement that sets them for a session; null if there is nothing to set. */
export function setForSession(settings: readonly Setting[]): string | null {
  return configuring(settings, 'false');
}

/** The statement that sets them until the end of the transaction. */
export function setForTransaction(settings: readonly Setting[]): string | null {
  return configuring(settings.map(inTransaction), 'true');
}

/** The URL without `options`, which poolers reject. */
export function withoutOptions(url: string): string {
  const address = new URL(url);
  address.searchParams.delete('options');
  return address.href;
}

/** A default would apply to the next transaction only. */
function inTransaction([name, value]: Setting): Setting {
  return [name === 'default_transaction_read_only' ? 'transaction_read_only' : name, value];
}

function configuring(settings: readonly Setting[], isLocal: string): string | null {
  if (settings.length === 0) return null;
  return `select ${settings.map(([name, value]) => `set_config(${literal(name)}, ${literal(value)}, ${isLocal})`).join(', ')}`;
}

function literal(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
