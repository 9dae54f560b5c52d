import type { Verdict } from '../targets.ts';

const width = 1000;
const rowHeight = 22;
const labelWidth = 430;
const top = 50;
const decades = [0.1, 1, 10, 100];
const [lowest, highest] = [0.05, 200];

/** An SVG plot of every ratio with its spread and its target, on a logarithmic scale. */
export function plot(verdicts: readonly Verdict[], subtitle: string): string {
  const rows = verdicts.filter(({ theirs }) => theirs.length > 0);
  const height = top + rows.length * rowHeight + 30;
  const grid = decades.map((value) => {
    const x = position(value);
    return `<line x1="${x}" y1="${top - 6}" x2="${x}" y2="${height - 24}" class="grid"/><text x="${x}" y="${height - 8}" class="tick">${value}×</text>`;
  });
  const marks = rows.map((verdict, index) => row(verdict, top + index * rowHeight + rowHeight / 2));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">
<style>.grid{stroke:#ddd}.tick{fill:#666;text-anchor:middle}.met{fill:#2a7d4f;stroke:#2a7d4f}.missed{fill:#b3261e;stroke:#b3261e}.free{fill:#555;stroke:#555}.target{stroke:#000;stroke-width:2}</style>
<rect width="100%" height="100%" fill="#fff"/>
<text x="10" y="20" font-size="15" font-weight="bold">Declarest against the others: median of the paired ratios, spread, target</text>
<text x="10" y="38" fill="#666">${escaped(subtitle)}</text>
${[...grid, ...marks].join('\n')}
</svg>
`;
}

function row({ title, ratio, least, most, met }: Verdict, y: number): string {
  const look = met === null ? 'free' : met ? 'met' : 'missed';
  const target = least ?? most;
  return [
    `<text x="${labelWidth - 10}" y="${y + 4}" text-anchor="end">${escaped(title)}</text>`,
    `<line x1="${position(ratio.low)}" y1="${y}" x2="${position(ratio.high)}" y2="${y}" class="${look}" stroke-width="3" opacity="0.4"/>`,
    `<circle cx="${position(ratio.median)}" cy="${y}" r="4" class="${look}"/>`,
    target === undefined
      ? ''
      : `<line x1="${position(target)}" y1="${y - 7}" x2="${position(target)}" y2="${y + 7}" class="target"/>`,
  ].join('');
}

function position(ratio: number): string {
  const share = Math.log(Math.min(Math.max(ratio, lowest), highest) / lowest) / Math.log(highest / lowest);
  return (labelWidth + share * (width - labelWidth - 20)).toFixed(1);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
