import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { startReceiver } from '../integration/receiver/start-receiver.ts';
import { apply, connectCluster } from '../support/cluster.ts';
import type { Address } from '../support/gateway-syncs.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import type { Gitea } from './start-gitea.ts';

const SECRET = 'secret-of-the-webhook';

/** A private repository on Gitea, with a work tree. */
export interface GiteaRepository {
  /** `spec.git` that reads it, with the Secret `gitea`. */
  git: { repo: string; auth: object; caSecretRef: object };
  /** Runs git in the work tree. */
  run(...args: string[]): Promise<string>;
  /** Commits a file and pushes it to main, together with a tag if one is named. Returns the commit. */
  push(content: string, tag?: string): Promise<string>;
}

/** Creates a repository with the name of a resource, and the Secret with which the resource reads it. */
export async function createGiteaRepository(
  t: TestContext,
  gitea: Gitea,
  { namespace, name, secrets = {} }: Address & { secrets?: Record<string, string> },
): Promise<GiteaRepository> {
  await gitea.api('POST', '/user/repos', { name, private: true });
  const stringData = { ...secrets, read: await gitea.token(`${name}-read`, ['read:repository']), ca: gitea.ca };
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'gitea', namespace }, stringData });
  const directory = await temporaryDirectory(t, 'work-tree-');
  const run = async (...args: string[]) => {
    const identity = ['-c', 'user.name=plant', '-c', 'user.email=plant@example.test'];
    const settings = [...identity, '-c', `http.sslCAInfo=${gitea.caFile}`, '-c', 'credential.helper='];
    const env = { PATH: process.env.PATH, HOME: directory, GIT_TERMINAL_PROMPT: '0' };
    return (await runCommand('git', [...settings, ...args], { cwd: directory, env })).trim();
  };
  const { name: user, password } = gitea.user;
  const repo = `${gitea.url}/plant/${name}.git`;
  await run('init', '--quiet', '--initial-branch=main');
  await run('remote', 'add', 'origin', repo.replace('https://', `https://${user}:${password}@`));
  await mkdir(path.join(directory, 'config'));
  const push = async (content: string, tag?: string) => {
    await writeFile(path.join(directory, 'config/a'), content);
    await run('add', '.');
    await run('commit', '--quiet', '--message', `Write ${content}`);
    if (tag !== undefined) await run('tag', '--force', '--annotate', '--message', content, tag);
    const refs = tag === undefined ? ['main'] : ['main', `+refs/tags/${tag}`];
    await run('push', '--quiet', 'origin', ...refs);
    return await run('rev-parse', 'HEAD');
  };
  const key = (entry: string) => ({ name: 'gitea', key: entry });
  return { git: { repo, auth: { token: { secretRef: key('read') } }, caSecretRef: key('ca') }, run, push };
}

/** Starts a receiver, and lets a repository send it webhooks about events such as `push`. */
export async function addWebhook(
  t: TestContext,
  gitea: Gitea,
  { namespace, name, events }: Address & { events: string[] },
): Promise<void> {
  const { kubeconfig } = await connectCluster();
  const receiver = await startReceiver(t, kubeconfig, { WEBHOOK_HMAC_SECRET: SECRET });
  const url = `http://127.0.0.1:${receiver.port}/webhook/${namespace}/${name}`;
  await gitea.api('POST', `/repos/plant/${name}/hooks`, {
    type: 'gitea',
    active: true,
    events,
    config: { content_type: 'json', secret: SECRET, url },
  });
}
