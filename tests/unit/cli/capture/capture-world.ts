import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { type Captured, type CaptureInput, captureFiles } from '../../../../cli/capture/capture-files.ts';
import { type EditResult, WorkTree } from '../../../../cli/capture/work-tree.ts';
import { CheckoutGit } from '../../../../cli/checkout/checkout-git.ts';
import { readContent } from '../../../../cli/client/read-content.ts';
import type { GitRepository } from '../../../../scripts/testbed/git-repository.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { serveCommit } from '../../agent/support/local-clone.ts';
import { localSandbox } from '../../agent/support/local-sandbox.ts';

type Files = Parameters<GitRepository['commit']>[0]['files'];
type Options = Partial<Pick<CaptureInput, 'matches' | 'to' | 'ignored' | 'read'>> & {
  withNew?: boolean;
  /** Commit of the clone, with its submodules, instead of the gateway's. */
  commitWithModules?: string;
};

/** A gateway with the files of a commit, and a clone of its repository. */
export async function captureWorld(t: TestContext, files: Files, profile: Partial<ResolvedProfile>) {
  const { repository, sandbox, at } = await localSandbox(t, 'capture');
  const commit = await repository.commit({ files });
  const target = { repo: repository.url, profile: { drift: 'report' as const, ...profile } };
  await sandbox.sync({ ...target, commit });
  const clone = path.join(await temporaryDirectory(t, 'clone-'), 'clone');
  await runCommand('git', ['clone', '--quiet', repository.path, clone]);
  const git = (...args: string[]) =>
    runCommand('git', ['-C', clone, '-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args]);
  const checkout = await CheckoutGit.find(clone, process.env);
  const write = async (file: string, content: string | Buffer) => {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  };
  return {
    repository,
    sandbox,
    clone,
    git,
    commit,
    checkout,
    /** Edits a file on the gateway, or in the checkout. */
    edit: (file: string, content: string | Buffer) => write(at(file), content),
    editClone: (file: string, content: string | Buffer) => write(path.join(clone, file), content),
    at,
    inClone: (file: string) => readFile(path.join(clone, file), 'utf8'),
    /** Captures into memory. Changes can be replaced, as a hostile agent would. */
    take: async (
      { withNew = true, commitWithModules, ...options }: Options = {},
      hostile?: CaptureInput['changes'],
    ): Promise<Captured> => {
      const answer = await sandbox.inspect({ kind: 'drift', withNew }, { ...target, commit });
      const ask = (file: string) => (offset: number) =>
        sandbox.inspect({ kind: 'content', path: file, offset }, { ...target, commit });
      const names = { podName: 'gateway-0', podUid: '', namespace: 'ns', crName: 'gw', gatewayName: 'edge' };
      const submodules = commitWithModules !== undefined;
      const spec = { git: { repo: repository.url, submodules }, sync: { profiles: { default: target.profile } } };
      return await captureFiles({
        git: checkout,
        gatewaySync: { spec: spec as unknown as CaptureInput['gatewaySync']['spec'] },
        sources: {
          identity: { ...names, profile: 'default' },
          labels: new Map(),
          ref: 'main',
          commit: commitWithModules ?? commit,
        },
        changes: hostile ?? answer.changes,
        matches: () => true,
        ignored: [],
        read: (file, room) => readContent(ask(file), room),
        ...options,
      });
    },
    /** Writes what was captured, and returns the result of each file. */
    put: async ({ files }: Captured): Promise<EditResult[]> => {
      const tree = await WorkTree.open(checkout);
      const results = (await tree.prepare(files)).map(({ result }) => result);
      await tree.write(results.flatMap((result) => (result.kind === 'edit' ? [result.edit] : [])));
      return results;
    },
    /** Commits and pushes everything in the checkout, and syncs that. */
    pushAndSync: async () => {
      await git('add', '--all');
      await git('commit', '--quiet', '--allow-empty', '-m', 'captured');
      await git('push', '--quiet', 'origin', 'HEAD:main');
      const next = (await git('rev-parse', 'HEAD')).trim();
      await serveCommit(repository, next);
      await sandbox.sync({ ...target, commit: next });
    },
  };
}

/** Reasons of a capture by the paths on the gateway. */
export const refusedIn = ({ refused }: Captured): Record<string, string> =>
  Object.fromEntries(refused.map(({ path: file, code }) => [file, code]));

/** Contents by their paths in the repository. */
export const filesIn = ({ files }: Captured): Record<string, string> =>
  Object.fromEntries(files.map(({ source, content }) => [source, `${content}`]));
