import type { FilePatches } from '../../agent/plan/file-patches.ts';
import { isLfsPointer } from '../../agent/plan/lfs-pointer.ts';
import type { DesiredFile, TreeEntry } from '../../agent/plan/plan-input.ts';
import { MAX_RENDERED_BYTES } from '../../agent/plan/render-content.ts';
import { renderFile } from '../../agent/plan/render-file.ts';
import type { TemplateSources } from '../../agent/plan/template-values.ts';
import { type Answer, INSPECTION, type InspectedChange, type LeftOut } from '../../shared/api/inspection.ts';
import type { CheckoutGit } from '../checkout/checkout-git.ts';
import type { GatewaySyncManifest } from '../checkout/read-gateway-sync.ts';
import { Problem } from '../client/problem.ts';
import type { GatewayContent } from '../client/read-content.ts';
import { isSafe, newSource } from './new-source.ts';
import { type CommitPlan, type CommitPlanResult, planCommit } from './plan-commit.ts';
import type { Refusal, RefusalCode } from './refusals.ts';
import { restoreValues } from './restore-values.ts';

/** A gateway's files, and the parts of them to capture. */
export interface CaptureInput {
  git: CheckoutGit;
  gatewaySync: Pick<GatewaySyncManifest, 'spec'>;
  /** Values for templates; the commit is the one that the gateway has. */
  sources: Omit<TemplateSources, 'vars'>;
  changes: Answer['changes'];
  /** Checks whether a path on the gateway is to be captured. */
  matches: (path: string) => boolean;
  /** Mapping for files that several could take. */
  to?: string | undefined;
  /** Paths in JSON files whose values in git are kept. */
  ignored: readonly string[][];
  /** Reads a file of the gateway, of at most a number of bytes. */
  read: (path: string, room: number) => Promise<GatewayContent>;
}

/** A file of the repository with the content of a gateway. */
export interface CapturedFile {
  source: string;
  /** Paths on the gateway. */
  paths: string[];
  content: Buffer;
  executable: boolean;
  /** The entry of the gateway's commit, with its content; undefined if it has none. */
  base: { executable: boolean; content: Buffer } | undefined;
}

export interface Captured {
  files: CapturedFile[];
  refused: Refusal[];
}

/** Content that the gateway's file doesn't show, or that must not be shown. */
const HIDDEN: readonly LeftOut[] = ['lfs', 'noFile', 'secret', 'submodule', 'template', 'unreadable'];

interface Placed {
  change: InspectedChange;
  source: string;
}

/** Reads the changed files of a gateway, and returns what they are in the repository. Throws `Problem`. */
export async function captureFiles(input: CaptureInput): Promise<Captured> {
  const { git, gatewaySync, sources, matches } = input;
  const before = planned(await planCommit(git, gatewaySync, { sources }));
  const refused: Refusal[] = [];
  let placed: Placed[] = [];
  for (const change of input.changes.filter(({ path }) => matches(path))) {
    const place = placeOf(change, before, input.to);
    if ('code' in place) refused.push({ path: change.path, code: place.code });
    else placed.push({ change, source: place.source });
  }
  const added = new Map<string, TreeEntry>();
  for (const { source, change } of placed) {
    const { executable = false } = change.after ?? {};
    if (!before.entries.has(source)) added.set(source, { path: source, kind: 'file', blob: '', executable });
  }
  let plan = before;
  if (added.size > 0) {
    const result = await planCommit(git, gatewaySync, { sources, added: [...added.values()] });
    if (result.kind === 'plan') plan = result;
    else {
      const [message = ''] = result.problems;
      for (const { source, change } of placed)
        if (added.has(source)) refused.push({ path: change.path, source, code: 'problem', message });
      placed = placed.filter(({ source }) => !added.has(source));
    }
  }
  const found = await new Capture(input, { before, plan }).take(placed);
  return { files: found.files, refused: [...refused, ...found.refused] };
}

function planned(result: CommitPlanResult): CommitPlan {
  if (result.kind === 'plan') return result;
  const [first = '', ...others] = result.problems;
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  throw new Problem(`the gateway's commit can't be planned with spec.sync: ${first}${more}`, 'CheckoutInvalid');
}

type Place = { source: string } | { code: RefusalCode };

/** The source of a delivered file is the one that the plan has, whatever the agent says. */
function placeOf({ path, kind, leftOut }: InspectedChange, plan: CommitPlan, to: string | undefined): Place {
  if (!isSafe(path)) return { code: 'name' };
  if (leftOut && HIDDEN.includes(leftOut)) return { code: leftOut };
  if (kind === 'delete') return { code: 'deleted' };
  const file = plan.files.get(path);
  if ((file !== undefined) !== (kind === 'modify')) return { code: 'unplanned' };
  if (file && isInside(file.source, plan.modules)) return { code: 'submodule' };
  if (file && to === undefined) return { source: file.source };
  const found = newSource(path, plan, to);
  if (found.kind === 'refused') return { code: found.code };
  return isInside(found.source, plan.modules) ? { code: 'submodule' } : found;
}

const isInside = (path: string, modules: ReadonlySet<string>): boolean =>
  modules.size > 0 && path.split('/').some((_, end, parts) => modules.has(parts.slice(0, end).join('/')));

/** The content of one file on the gateway, as it is there and as it would be in the repository. */
interface Read extends Placed {
  onGateway: Buffer;
  content: Buffer;
  executable: boolean;
}

/** Reads files, and checks that a sync of the result would write exactly what the gateway has. */
class Capture {
  readonly #input: CaptureInput;
  /** Plans of the gateway's commit, and of the same with new files. */
  readonly #before: CommitPlan;
  readonly #plan: CommitPlan;
  readonly #bases = new Map<string, Buffer | undefined>();
  readonly #refused: Refusal[] = [];

  constructor(input: CaptureInput, { before, plan }: { before: CommitPlan; plan: CommitPlan }) {
    this.#input = input;
    this.#before = before;
    this.#plan = plan;
  }

  async take(placed: readonly Placed[]): Promise<Captured> {
    const bySource = Map.groupBy(await this.#readAll(placed), ({ source }) => source);
    const destinations = Map.groupBy(this.#plan.files.values(), ({ source }) => source);
    const files: CapturedFile[] = [];
    for (const [source, copies] of bySource) {
      const code = await this.#whyInexact(copies, destinations.get(source) ?? []);
      if (code) for (const { change } of copies) this.#refused.push({ path: change.path, source, code });
      else files.push(await this.#captured(source, copies));
    }
    return { files, refused: this.#refused };
  }

  async #readAll(placed: readonly Placed[]): Promise<Read[]> {
    const found: Read[] = [];
    let room: number = INSPECTION.readBytes;
    for (const { change, source } of placed) {
      const { path, after } = change;
      const file = this.#plan.files.get(path);
      if (file?.source !== source) {
        this.#refused.push({ path, source, code: 'unplanned' });
        continue;
      }
      const base = await this.#baseOf(source);
      if (base && isLfsPointer(base, base.length)) {
        this.#refused.push({ path, source, code: 'lfs' });
        continue;
      }
      const known = change.leftOut || after?.text === undefined ? undefined : Buffer.from(after.text);
      const read = known ? { kind: 'content' as const, content: known } : await this.#input.read(path, room);
      if (read.kind !== 'content' || read.content.length > room) {
        this.#refused.push({ path, source, ...refusalOf(read) });
        continue;
      }
      room -= read.content.length;
      const content = file.patches ? unpatched(read.content, base, file.patches) : read.content;
      if (!content) this.#refused.push({ path, source, code: 'inexact' });
      else {
        const executable = file.mode === undefined ? after?.executable : this.#plan.entries.get(source)?.executable;
        found.push({ change, source, onGateway: read.content, content, executable: executable ?? false });
      }
    }
    return found;
  }

  /** Every destination of the repository's file must have what a sync would write there. */
  async #whyInexact(copies: readonly Read[], destinations: readonly DesiredFile[]): Promise<RefusalCode | undefined> {
    const [first] = copies;
    if (!first) return undefined;
    for (const file of destinations) {
      const own = copies.find(({ change }) => change.path === file.path);
      const there = own ?? (await this.#unchangedAt(file.path));
      const isMode = file.mode !== undefined || there?.executable === first.executable;
      if (!there || !isMode) return 'copies';
      const next = render(first.content, file, this.#plan);
      if (!next?.equals(there.onGateway)) return own === first ? 'inexact' : 'copies';
    }
    return undefined;
  }

  /** Returns the content of a file that hasn't changed on the gateway; undefined if it has, or isn't there. */
  async #unchangedAt(path: string): Promise<Pick<Read, 'onGateway' | 'executable'> | undefined> {
    const file = this.#before.files.get(path);
    if (!file || this.#input.changes.some((change) => change.path === path)) return undefined;
    const base = await this.#baseOf(file.source);
    const onGateway = base && render(base, file, this.#before);
    return onGateway && { onGateway, executable: file.executable };
  }

  async #captured(source: string, copies: readonly Read[]): Promise<CapturedFile> {
    const [first] = copies;
    if (!first) throw new Error(`${source} has no copy`);
    const base = await this.#baseOf(source);
    let { content } = first;
    for (const path of base ? this.#input.ignored : []) {
      const kept = restoreValues(content, base, [path]);
      // Other files don't have the value, or aren't JSON.
      if (kept.kind === 'content') content = kept.content;
    }
    const entry = this.#before.entries.get(source);
    return {
      source,
      paths: copies.map(({ change }) => change.path),
      content,
      executable: first.executable,
      base: base && entry && { executable: entry.executable, content: base },
    };
  }

  async #baseOf(source: string): Promise<Buffer | undefined> {
    if (this.#bases.has(source)) return this.#bases.get(source);
    const entry = this.#before.entries.get(source);
    const content = entry?.kind === 'file' ? await this.#input.git.blob(entry.blob) : undefined;
    this.#bases.set(source, content);
    return content;
  }
}

function refusalOf(read: GatewayContent): Pick<Refusal, 'code' | 'message'> {
  if (read.kind === 'problem') return { code: 'problem', message: read.message };
  return { code: read.kind === 'content' || read.why === 'large' ? 'total' : read.why };
}

function unpatched(content: Buffer, base: Buffer | undefined, { steps }: FilePatches): Buffer | undefined {
  const restored = restoreValues(
    content,
    base,
    steps.flatMap((edits) => edits.map(({ path }) => path)),
  );
  return restored.kind === 'content' ? restored.content : undefined;
}

/** Returns what an agent writes; undefined if it refuses to. */
function render(content: Buffer, file: DesiredFile, { values }: CommitPlan): Buffer | undefined {
  if (!file.template && !file.patches) return content;
  if (content.length > MAX_RENDERED_BYTES) return undefined;
  const rendered = renderFile(content, file, values);
  return rendered.kind === 'content' ? rendered.content : undefined;
}
