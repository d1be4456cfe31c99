import { createHash } from 'node:crypto';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { type Answer, INSPECTION, type InspectedChange, type LeftOut } from '../../shared/api/inspection.ts';
import { formatFileMode } from '../../shared/domain/files/file-mode.ts';
import { isFilePath } from '../../shared/domain/files/relative-path.ts';
import { omit, withoutUndefined } from '../../shared/domain/text/objects.ts';
import { type AgentPod, whyNotRunning } from './agent-state.ts';
import { type Beyond, reportsOf } from './beyond.ts';
import { resourceView } from './fleet.ts';
import type { GatewayView } from './gateway.ts';
import { type FileChange, unifiedDiff } from './unified-diff.ts';

/** A gateway, with a reason if it can't be queried. */
export interface Askable extends Pick<GatewayView, 'name' | 'pod' | 'profile' | 'wave' | 'waitsFor'> {
  status: string;
  /** Reason why its agent can't respond. */
  unable?: string;
}

/** Returns the gateways of a resource that the views show. */
export function askableGateways(
  gatewaySync: GatewaySync,
  beyond: Beyond,
  agentPods: ReadonlyMap<string, AgentPod> = new Map(),
): Askable[] {
  const reportOf = reportsOf(gatewaySync.metadata.namespace, beyond);
  return resourceView(gatewaySync, beyond).gateways.map((gateway) => {
    const pod = agentPods.get(gateway.pod) ?? {};
    const unable = whyNotRunning(pod) ?? whyUnable(reportOf({ podName: gateway.pod }), gateway);
    return unable ? { ...gateway, unable } : gateway;
  });
}

function whyUnable(report: unknown, { status, waitsFor }: Askable): string | undefined {
  if (status === 'MissingSidecar') return 'no sidecar: recreate the pod';
  return report ? undefined : (waitsFor ?? 'its agent has not reported yet');
}

/** The selected gateways, and whether they are a sample. */
export interface Chosen {
  gateways: Askable[];
  isSample: boolean;
}

/** Selects the specified gateways, all, or one per profile and wave, preferably one that can respond. */
export function chooseGateways(
  all: readonly Askable[],
  { gateway, isAll }: { gateway: string | undefined; isAll: boolean },
): Chosen {
  if (gateway !== undefined)
    return { gateways: all.filter(({ name, pod }) => name === gateway || pod === gateway), isSample: false };
  if (isAll) return { gateways: [...all], isSample: false };
  const sample = new Map<string, Askable>();
  const able = [...all.filter(({ unable }) => !unable), ...all.filter(({ unable }) => unable)];
  for (const each of able) {
    const kind = JSON.stringify([each.profile, each.wave]);
    if (!sample.has(kind)) sample.set(kind, each);
  }
  return { gateways: [...sample.values()], isSample: sample.size < all.length };
}

/** Responses of the queried gateways. `--output json` prints it. */
export interface InspectionView {
  namespace: string;
  name: string;
  kind: 'diff' | 'drift';
  /** Ref of a diff; each gateway resolves its commit. */
  ref?: string;
  /** Number of gateways. */
  total: number;
  answers: AnswerView[];
  silent: { gateway: string; pod: string; why: string }[];
}

export interface AnswerView {
  gateway: string;
  pod: string;
  ref?: string;
  commit?: string;
  problem?: string;
  changes: ChangeView[];
  /** Number of omitted changes. */
  more: number;
}

export interface ChangeView extends Pick<InspectedChange, 'path' | 'source' | 'kind' | 'reason'> {
  /** Change of a mode that a mapping sets, such as `0644 -> 0600`. */
  mode?: string;
  /** Diff in git's format, with the paths on the gateway. */
  diff?: string;
  /** Reason for a missing diff. */
  leftOut?: string;
}

/** Reasons for a missing diff. */
export const LEFT_OUT: Record<LeftOut, string> = {
  binary: 'binary',
  changing: 'changes while it is read',
  foreign: 'not written by the agent',
  large: `larger than ${INSPECTION.fileBytes / 1024} KiB`,
  lfs: 'in Git LFS',
  limit: 'omitted because the response is full',
  noFile: 'not a regular file',
  notFetched: `larger than ${INSPECTION.fileBytes / 1024} KiB, or not fetched`,
  patched: 'generated with patches',
  secret: 'looks like a secret',
  submodule: 'in a submodule',
  template: 'generated from a template',
  unreadable: 'not readable by the agent',
};

/** Reasons for a change that a patch doesn't contain. */
export const UNPATCHED = {
  outside: 'not a path of the repository',
  undelivered: 'was never delivered',
  deleted: 'missing on the gateway: add --with-deleted to delete it',
  mode: 'the mapping sets its mode, not git',
  disputed: (name: string, others: string) =>
    `the change on ${name} differs from the change on ${others}: choose a gateway with --gateway`,
  copies: (name: string) => `the copies of the file on ${name} have different changes`,
};

/** Creates the view of a response. */
export function answerView({ name, pod }: Pick<Askable, 'name' | 'pod'>, answer: Answer): AnswerView {
  const { ref, commit, problem, changes, more } = answer;
  return {
    gateway: name,
    pod,
    ...(ref && { ref }),
    ...(commit && { commit }),
    ...(problem && { problem }),
    changes: changes.map((change) => changeView(change, algorithmOf(commit))),
    more,
  };
}

interface SharedAnswer {
  answer: Answer;
  view: AnswerView;
}

/** Shares identical responses, because they can be large and most of a thousand gateways send the same one. */
export class SharedAnswers {
  readonly #known = new Map<string, SharedAnswer>();

  /** Returns the first identical response, and its view for this gateway. */
  take(gateway: Pick<Askable, 'name' | 'pod'>, answer: Answer): SharedAnswer {
    const key = createHash('sha256').update(JSON.stringify(answer)).digest('base64');
    const found = this.#known.get(key) ?? { answer, view: answerView(gateway, answer) };
    this.#known.set(key, found);
    return { answer: found.answer, view: { ...found.view, gateway: gateway.name, pod: gateway.pod } };
  }
}

function changeView(change: InspectedChange, algorithm: 'sha1' | 'sha256'): ChangeView {
  const { path, source, kind, reason, leftOut } = change;
  const file = fileChangeOf(change, path);
  const diff = file && unifiedDiff(file, algorithm);
  return withoutUndefined({
    path,
    source,
    kind,
    reason,
    mode: modeChangeOf(change),
    diff: diff || undefined,
    leftOut: leftOut && LEFT_OUT[leftOut],
  });
}

function modeChangeOf({ before, after }: InspectedChange): string | undefined {
  if (before?.mode === undefined || after?.mode === undefined || before.mode === after.mode) return undefined;
  return `${formatFileMode(before.mode)} -> ${formatFileMode(after.mode)}`;
}

const algorithmOf = (commit: string | undefined): 'sha1' | 'sha256' => (commit?.length === 64 ? 'sha256' : 'sha1');

/** Returns both versions of a file, or undefined if the content of one is unknown. */
function fileChangeOf({ before, after, leftOut, kind }: InspectedChange, path: string): FileChange | undefined {
  const isKnown = [before, after].every((side) => !side || side.text !== undefined);
  if (leftOut || !isKnown || (kind !== 'add' && !before) || (kind !== 'delete' && !after)) return undefined;
  const version = (side: typeof before) => side && { ...side, text: side.text ?? '' };
  return { path, before: version(before), after: version(after) };
}

/** A patch for the repository, and the omitted files with the reason. */
export interface RepositoryPatch {
  text: string;
  refused: { path: string; why: string }[];
}

/**
 * Creates a patch for `git apply`, with the paths of the repository, that makes it match the gateways. It includes a
 * file if its content is known and all gateways with a difference agree. Missing files are deleted only with
 * `withDeleted`.
 */
export function repositoryPatch(
  answers: readonly { name: string; answer: Answer }[],
  { withDeleted }: { withDeleted: boolean },
): RepositoryPatch {
  const found = new Map<string, Found>();
  const refused: RepositoryPatch['refused'] = [];
  // Gateways with identical responses share one object.
  const texts = new Map<InspectedChange, string>();
  for (const { name, answer } of answers) {
    for (const change of answer.changes) {
      const why = whyRefused(change, withDeleted);
      const path = change.source ?? change.path;
      const file = why ? undefined : fileChangeOf(withoutModes(change), path);
      if (!file) refused.push({ path, why: `${why ?? LEFT_OUT.limit} (${name})` });
      else {
        const text = texts.get(change) ?? unifiedDiff(file, algorithmOf(answer.commit));
        texts.set(change, text);
        const isMode = text === '' && change.before?.mode !== undefined;
        if (isMode) refused.push({ path, why: `${UNPATCHED.mode} (${name})` });
        else addTo(found, { path, name, text });
      }
    }
  }
  const agreed = [...found].filter(([, { others }]) => others.length === 0);
  for (const [path, { name, others }] of found) {
    if (others.length === 0) continue;
    const elsewhere = others.filter((other) => other !== name);
    const why = elsewhere.length > 0 ? UNPATCHED.disputed(name, elsewhere.join(', ')) : UNPATCHED.copies(name);
    refused.push({ path, why });
  }
  return { text: agreed.map(([, { text }]) => text).join(''), refused };
}

/** Ignores a mode that a mapping sets, because it isn't in the repository. */
function withoutModes(change: InspectedChange): InspectedChange {
  const { before, after } = change;
  if (before?.mode === undefined) return change;
  const { executable } = before;
  const ofGit = { ...change, before: omit(before, 'mode') };
  return after ? { ...ofGit, after: { ...omit(after, 'mode'), executable } } : ofGit;
}

interface Found {
  name: string;
  text: string;
  /** Gateways with a different change. */
  others: string[];
}

function addTo(found: Map<string, Found>, { path, name, text }: { path: string; name: string; text: string }): void {
  const first = found.get(path);
  if (!first) found.set(path, { name, text, others: [] });
  else if (first.text !== text) first.others.push(name);
}

function whyRefused({ kind, leftOut, path, source = path }: InspectedChange, withDeleted: boolean): string | undefined {
  if (leftOut) return LEFT_OUT[leftOut];
  if (!isFilePath(source)) return UNPATCHED.outside;
  if (kind === 'add') return UNPATCHED.undelivered;
  return kind === 'delete' && !withDeleted ? UNPATCHED.deleted : undefined;
}
