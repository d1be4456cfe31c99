import { shortHashes } from '../fleet/messages.ts';
import { type PlanSection, type PlanView, plannedRelease, sectionsOf } from '../fleet/plan-view.ts';
import {
  changeText,
  countsTable,
  EDITED,
  effectOf,
  numberOf,
  SHOWN,
  shownChange,
  wavesOf,
} from '../fleet/plan-words.ts';
import { cut, plain } from '../terminal/text.ts';

const SECTIONS = 10;
const PATH_WIDTH = 240;
/** Maximum characters of all sections: a comment on GitHub has at most 65,536 characters. */
const SECTIONS_LENGTH = 40_000;

/**
 * Draws a plan as GitHub Flavored Markdown (https://github.github.com/gfm/), for comments and summaries of CI jobs. It
 * contains paths and counts, but no names of gateways and no messages, which can contain values of labels and variables.
 */
export function drawPlanMarkdown(view: PlanView): string {
  const { namespace, name, says, failing, everyCommit } = view;
  const sections = sectionsOf(view);
  const drawn = fitting(sections.slice(0, SECTIONS).map((section) => drawSection(section, view)));
  const hidden = sections.length - drawn.length;
  const failed = failing.reduce((sum, { gateways }) => sum + gateways.length, 0);
  const paragraphs = [
    `### Plan of ${code(`${namespace}/${name}`)}`,
    says === undefined ? `${releaseOf(view)} ${effectOf(view.counts)}.` : `${plain(says)}.`,
    ...(says === undefined ? [drawCounts(view)] : []),
    failed > 0 &&
      `**${numberOf(failed, 'gateway')}** cannot get this commit, for ${numberOf(failing.length, 'reason')}. The output without \`--output markdown\` contains the reasons.`,
    ...drawn,
    hidden > 0 && `${numberOf(hidden, 'more group')} not shown.`,
    everyCommit && `Every commit changes ${code(everyCommit)}: its template or patch uses the commit or the ref.`,
  ];
  return `${paragraphs.filter(Boolean).join('\n\n')}\n`;
}

/** Returns the sections that fit, the largest groups first. */
function fitting(sections: readonly string[]): string[] {
  let length = 0;
  return sections.filter((section) => {
    length += section.length;
    return length <= SECTIONS_LENGTH;
  });
}

function releaseOf(view: PlanView): string {
  const { sampledFrom, counts, isEdit } = view;
  const planned = plannedRelease(view);
  const named = planned === undefined ? 'The commit' : code(shortHashes(planned));
  const release = `${named}${isEdit ? EDITED : ''}`;
  return sampledFrom ? `${counts.gateways} of ${sampledFrom} gateways were queried: ${release}` : release;
}

function drawCounts(view: PlanView): string {
  const { columns, rows } = countsTable(view);
  const titles = [...(view.waves ? ['wave'] : []), ...columns.map(({ title }) => title)];
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    row(titles),
    row(titles.map(() => '---')),
    ...rows.map(({ wave, counts }) => row([...(wave === undefined ? [] : [code(wave)]), ...counts.map(String)])),
  ].join('\n');
}

function drawSection({ gateways, versions, paths, files }: PlanSection, view: PlanView): string {
  const waves = wavesOf(gateways, view).map(([wave, number]) => `${code(wave)} ${number}`);
  const inWaves = waves.length > 0 ? ` (${waves.join(', ')})` : '';
  const who = `**${numberOf(gateways.length, 'gateway')}**${inWaves}`;
  if (files === 0) return `${who}, with a problem that their current commit has as well.`;
  const differs = versions > 1 ? `, with ${versions} different contents` : '';
  const shown = paths.slice(0, SHOWN.paths);
  const hidden = files - shown.length;
  const lines = [
    ...shown.map(shownChange).map((change) => `- ${changeText({ ...change, path: code(change.path) })}`),
    ...(hidden > 0
      ? [`- ${shown.length > 0 ? numberOf(hidden, 'more file') : `${numberOf(hidden, 'file')}, ${UNLISTED}`}`]
      : []),
  ];
  return `${who}${differs}:\n\n${lines.join('\n')}`;
}

const UNLISTED = 'not listed, because paths of an earlier `spec.sync` can contain values';

/** Quotes untrusted text as a code span, in which Markdown and HTML have no meaning. */
function code(text: string): string {
  const shown = cut(plain(text), PATH_WIDTH) || ' ';
  const longest = Math.max(0, ...(shown.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return longest > 0 ? `${fence} ${shown} ${fence}` : `${fence}${shown}${fence}`;
}
