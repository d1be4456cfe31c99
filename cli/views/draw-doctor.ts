import type { Diagnosis } from '../checks/diagnose.ts';
import type { Finding, Level } from '../checks/finding.ts';
import type { Host } from '../terminal/host.ts';
import { type Colour, type Ink, inkFor } from '../terminal/ink.ts';
import { linesOf, plain } from '../terminal/text.ts';

const MARKS: Record<Level, { glyph: string; colour: Colour }> = {
  ok: { glyph: '✓', colour: 'green' },
  warning: { glyph: '!', colour: 'yellow' },
  failed: { glyph: '✗', colour: 'red' },
};

/** Draws the findings below a heading per object, each with its remedy. */
export function drawDiagnosis({ sections, totals }: Diagnosis, host: Host): string[] {
  const ink = inkFor(host.hasColours);
  const parts = sections.flatMap(({ title, findings }) => [
    ...wrapped(title, host).map((line) => ink('bold', line)),
    ...findings.flatMap((finding) => drawFinding(finding, { host, ink })),
    '',
  ]);
  return [...parts, ...wrapped(verdictOf(totals), host).map((line) => ink(totals.failed > 0 ? 'red' : 'bold', line))];
}

function drawFinding({ level, says, todo, page }: Finding, { host, ink }: { host: Host; ink: Ink }): string[] {
  const { glyph, colour } = MARKS[level];
  const [first = '', ...rest] = wrapped(says, host, 2);
  return [
    `${ink(colour, glyph)} ${first}`,
    ...rest.map((line) => `  ${line}`),
    ...(todo ? wrapped(`→ ${todo}`, host, 4).map((line) => `    ${line}`) : []),
    // Terminals don't recognize a wrapped URL as one link.
    ...(page ? [ink('dim', `    ${plain(page)}`)] : []),
  ];
}

const wrapped = (text: string, { columns }: Host, indentation = 0): string[] =>
  linesOf(text, columns && Math.max(columns - indentation, 20));

function verdictOf({ ok, warning, failed }: Diagnosis['totals']): string {
  const counts = `${ok} ✓, ${warning} !, ${failed} ✗`;
  if (failed > 0) return `Some checks failed: ${counts}`;
  return warning > 0 ? `No check failed, some need attention: ${counts}` : `All checks passed: ${counts}`;
}
