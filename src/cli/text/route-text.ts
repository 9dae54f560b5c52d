import type { RouteDescription } from '../../route/describe.ts';
import type { Match } from '../../route/match.ts';
import { aligned, detailLines, type OutputStyle, painter, paintPublic, table, wrapped } from './layout.ts';

/** `BASE + METHOD`, or `GET,HEAD: PUBLIC; POST: BASE` if methods differ. */
export function rolesText({ methods, roles }: Pick<RouteDescription, 'methods' | 'roles'>): string {
  const byRoles = Map.groupBy(methods, (method) => roles[method]?.join(' + ') || 'PUBLIC');
  if (byRoles.size === 1) return [...byRoles.keys()].join();
  return [...byRoles].map(([text, those]) => `${those.join(',')}: ${text}`).join('; ');
}

/** A table, or one block per route if the table is wider than the terminal. The first columns are methods and path. */
export function routeLines(titles: readonly string[], rows: readonly (readonly string[])[], output: OutputStyle): string[] {
  const { colour, columns } = output;
  if (columns === null || aligned([titles, ...rows]).every((line) => line.length <= columns)) return table(titles, rows, colour);
  const paint = painter(colour);
  const labels = titles.slice(2).map((title) => title.toLowerCase());
  const layout = { indent: 2, labels: Math.max(...labels.map((label) => label.length)) + 2, width: columns };
  return rows.flatMap(([methods = '', path = '', ...cells]) => {
    const heads = `${methods}  ${path}`.length <= columns ? [`${methods}  ${path}`] : [methods, `  ${path}`];
    const details = cells.flatMap((text, index) => (text === '' ? [] : detailLines(labels[index] ?? '', text, layout)));
    return [...heads.map((line) => paint('bold', line)), ...details.map((line) => paintPublic(line, paint))];
  });
}

/** `id = 1, _format = json` */
export function valuesText({ format, params }: Pick<Match, 'format' | 'params'>): string {
  return Object.entries({ ...params, _format: format })
    .map(([name, value]) => `${name} = ${value}`)
    .join(', ');
}

/** Routes that nearly match, each with the reason why it does not. */
export function nearMissLines(
  misses: readonly { readonly name: string; readonly path: string; readonly reason: string }[],
  { columns }: OutputStyle,
): string[] {
  if (misses.length === 0) return [];
  const rows = aligned(
    misses.map(({ name, path, reason }) => [name, path, reason]),
    '  ',
  );
  const fits = columns === null || rows.every((line) => line.length <= columns);
  const stacked = () =>
    misses.flatMap(({ name, path, reason }) => [
      `  ${name}`,
      `    ${path}`,
      ...wrapped(reason, (columns ?? 0) - 4).map((line) => `    ${line}`),
    ]);
  return ['near misses:', ...(fits ? rows : stacked())];
}
