import { namesOf } from './names.ts';
import {
  type GatewayInPlan,
  type PlanReason,
  type PlanSection,
  type PlanView,
  plannedRelease,
  sectionsOf,
} from './plan-view.ts';
import {
  type CountsTable,
  countsTable,
  EDITED,
  effectOf,
  type ListedChange,
  numberOf,
  SHOWN,
  shownChange,
  verdictOf,
  wavesOf,
} from './plan-words.ts';

/** A plan for people. Its size is limited, regardless of the number of gateways. */
export interface PlanSummary {
  verdict: ReturnType<typeof verdictOf>;
  /** The effect in one sentence. */
  says: string;
  counts: CountsTable;
  failing: { who: string; why: string }[];
  groups: PlanSummaryGroup[];
  /** Lines about gateways that haven't reported, are skipped, or keep their files. */
  others: string[];
  /** Numbers of failures and groups that aren't in this summary. */
  moreFailing?: string;
  moreGroups?: string;
  /** The file that every commit changes. */
  note?: string;
}

export interface PlanSummaryGroup {
  /** Number, waves, and first names of the gateways. */
  who: string;
  /** The first changes, and the number of the others. */
  changes: ListedChange[];
  hidden: number;
}

/** Summarizes a plan. */
export function summarizePlan(view: PlanView): PlanSummary {
  const { failing, everyCommit } = view;
  const sections = sectionsOf(view);
  const listOf = (gateways: readonly GatewayInPlan[]) => listed(gateways, view);
  const moreFailing = more(failing, 'error message');
  const moreGroups = more(sections, 'group');
  return {
    verdict: verdictOf(view),
    says: sentenceOf(view),
    counts: countsTable(view),
    failing: failing.slice(0, SHOWN.sections).map(({ why, gateways }) => ({ who: listOf(gateways), why })),
    groups: sections.slice(0, SHOWN.sections).map(({ gateways, versions, paths, files, problem }) => ({
      who: `${listOf(gateways)}${remarkOn({ versions, files, problem })}`,
      changes: paths.slice(0, SHOWN.paths).map(shownChange),
      hidden: Math.max(0, files - Math.min(paths.length, SHOWN.paths)),
    })),
    others: othersIn(view),
    ...(moreFailing && { moreFailing }),
    ...(moreGroups && { moreGroups }),
    ...(everyCommit && {
      note: `every commit changes ${everyCommit}: its template or patch uses the commit or the ref`,
    }),
  };
}

/** Describes the plan in one sentence. */
function sentenceOf(view: PlanView): string {
  const { says, counts, sampledFrom, isEdit } = view;
  if (says !== undefined) return says;
  const release = plannedRelease(view) ?? 'the commit';
  const sample = sampledFrom ? `; ${counts.gateways} of ${sampledFrom} gateways were queried` : '';
  return `${release}${isEdit ? EDITED : ''} ${effectOf(counts)}${sample}`;
}

function remarkOn({ versions, files, problem }: Remarkable): string {
  if (files === 0) return ` (with a problem that their current commit has as well${problem ? `: ${problem}` : ''})`;
  return versions > 1 ? ` (with ${versions} different contents)` : '';
}

interface Remarkable extends Pick<PlanSection, 'versions' | 'files'> {
  problem: string | undefined;
}

/** Lists gateways by name, with their number in each wave. */
function listed(gateways: readonly GatewayInPlan[], view: PlanView): string {
  const waves = wavesOf(gateways, view).map(([wave, number]) => `${wave} ${number}`);
  const inWaves = waves.length > 0 ? ` (${waves.join(', ')})` : '';
  return `${numberOf(gateways.length, 'gateway')}${inWaves}: ${namesOf(gateways)}`;
}

/** Returns a line for each reason, and for the gateways that keep their files. */
function othersIn(view: PlanView): string[] {
  const { silent, skipped, unchanged, done } = view;
  const listOf = (gateways: readonly GatewayInPlan[]) => listed(gateways, view);
  const reasons = (title: string, all: readonly PlanReason[]) => [
    ...all.slice(0, SHOWN.sections).map(({ why, gateways }) => `${title}: ${listOf(gateways)} (${why})`),
    ...(all.length > SHOWN.sections ? [`${title}: ${more(all, 'reason')}`] : []),
  ];
  const line = (title: string, gateways: readonly GatewayInPlan[]) =>
    gateways.length > 0 ? [`${title}: ${listOf(gateways)}`] : [];
  return [
    ...reasons('not reported', silent),
    ...reasons('skipped', skipped),
    ...line('unchanged', unchanged),
    ...line('updated already', done),
  ];
}

/** Counts the groups that aren't shown. */
function more(groups: readonly { gateways: readonly unknown[] }[], noun: string): string | undefined {
  const hidden = groups.slice(SHOWN.sections);
  const gateways = hidden.reduce((sum, group) => sum + group.gateways.length, 0);
  if (hidden.length === 0) return undefined;
  return `and ${numberOf(hidden.length, `more ${noun}`)}, with ${numberOf(gateways, 'gateway')}: kubectl stoker plan --output json lists all`;
}
