import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { RepositorySource } from '../../../../controller/polling/repository-client.ts';
import type { TerminalError } from '../../../../shared/errors.ts';
import { clientWith } from '../../../support/client-with.ts';
import { queryClient, queryTools } from '../../controller/polling/query-world.ts';
import { createSandbox } from './sandbox.ts';

/** Content of a resource's Secret; `spec.git` names each existing key. */
export interface SecretValues {
  token?: string;
  ca?: string;
  key?: string;
  knownHosts?: string;
}

const ref = (key: string) => ({ secretRef: { name: 'git', key } });

function gitOf(repo: string, { token, ca, key, knownHosts }: SecretValues): RepositorySource['git'] {
  const hosts = knownHosts === undefined ? { insecureIgnoreHostKey: true } : { knownHosts: ref('knownHosts') };
  return {
    repo,
    ...(token !== undefined && { auth: { token: ref('token') } }),
    ...(key !== undefined && { auth: { sshKey: { ...ref('key'), insecureIgnoreHostKey: false, ...hosts } } }),
    ...(ca !== undefined && { caSecretRef: ref('ca').secretRef }),
  };
}

/** The commit of main, as the controller finds it. */
export async function queryMain(t: TestContext, repo: string, values: SecretValues = {}): Promise<string | undefined> {
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  );
  const client = clientWith({ getAs: async () => ({ data }) });
  const tools = { ...queryTools(), client };
  t.after(() => tools.http.close());
  const repository = queryClient(tools, { namespace: 'ns', git: gitOf(repo, values) });
  return (await repository.query({ prefixes: ['refs/heads/main'] })).get('refs/heads/main');
}

/** The files of a commit, as a fresh agent delivers them. */
export async function deliver(
  t: TestContext,
  { repo, commit }: { repo: string; commit: string },
  { token, ca, key, knownHosts }: SecretValues = {},
): Promise<Record<string, string>> {
  const { directory } = await createSandbox(t);
  const mount = async (name: string, value: string | undefined) => {
    const file = path.join(directory, name);
    if (value !== undefined) await writeFile(file, value);
    return value === undefined ? undefined : file;
  };
  const files = {
    tokenFile: await mount('token', token),
    caFile: await mount('ca', ca),
    sshKeyFile: await mount('key', key),
    knownHostsFile: await mount('known-hosts', knownHosts),
  };
  const sandbox = await createSandbox(t, { files });
  await sandbox.sync({ repo, commit, ignoresHostKey: key !== undefined && knownHosts === undefined });
  return await sandbox.files();
}

/** Why both of them fail. */
export async function failuresOf(
  t: TestContext,
  repo: string,
  values: SecretValues = {},
): Promise<[TerminalError, TerminalError]> {
  const errorOf = (outcome: Promise<unknown>) =>
    outcome.then(
      () => assert.fail('it worked'),
      (error: TerminalError) => error,
    );
  const commit = 'ab'.repeat(20);
  return [await errorOf(queryMain(t, repo, values)), await errorOf(deliver(t, { repo, commit }, values))];
}
