import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { text as streamText } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';
import { describeChanges } from '../../../agent/plan/summarize-plan.ts';
import { reloadSettings } from '../../../agent/resource/judge-resource.ts';
import type { FileChange } from '../../../scripts/testbed/fast-import.ts';
import { gatewaySyncSpecSchema } from '../../../shared/api/gateway-sync.ts';
import { resolveProfile } from '../../../shared/domain/kubernetes/resolve-profile.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { createLfsHost } from '../../support/lfs-host.ts';
import { openPort } from '../../support/open-port.ts';
import { createSandbox } from '../../unit/agent/support/sandbox.ts';

const docs = path.join(import.meta.dirname, '../../../docs');

type Files = Record<string, string>;

/** An example of a page. */
interface Example {
  repository: Record<string, string | { symlink: string } | { submodule: string } | { lfs: string }>;
  /** Repositories next to it, by name. */
  submodules?: Record<string, Files>;
  profile: Parameters<typeof resolveProfile>[0]['profiles'][string];
  /** In the volume before the sync. */
  before?: Files;
  /** Done to the volume after a sync; another one follows then. */
  drift?: Record<string, string | null>;
  gateway?: unknown;
  /** Changes of the last sync, or planned ones. */
  changes?: string[];
  /** Requests to the gateway. */
  requests?: string[];
  volume: Files;
  /** Modes of files in the volume, in octal. */
  modes?: Files;
}

/** The pages with examples, and the headings that have to have one. */
const TOPICS = {
  'reference/profiles/mappings.md': ['Mappings', 'Excludes'],
  'reference/profiles/symbolic-links.md': ['Symbolic links'],
  'reference/profiles/templates-and-patches.md': ['Templates', 'Patches'],
  'reference/profiles/dry-run.md': ['Dry run'],
  'reference/profiles/volume.md': ['File permissions'],
  'reference/profiles/drift-and-failures.md': ['Drift'],
  'reference/profiles/sources.md': ['Submodules', 'Git LFS'],
  'how-to/notify-gateways.md': ['Send HTTP requests'],
};

const server = await shareGitServer();
const lfs = createLfsHost(`${server.url}/any.git/info/lfs/objects`);
server.lfs = lfs.listener;

/** Makes the repository of an example, and those next to it; gives its commit. */
async function commitExample(name: string, { repository, submodules = {} }: Example) {
  const { url, commit } = await server.createRepository(`${name}/root`);
  const files: Record<string, FileChange> = {};
  let gitmodules = '';
  for (const [at, given] of Object.entries(repository)) {
    if (typeof given === 'string' || 'symlink' in given) files[at] = given;
    else if ('lfs' in given) files[at] = lfs.add(given.lfs);
    else {
      const module = await server.createRepository(`${name}/${given.submodule}`);
      files[at] = { submodule: await module.commit({ files: submodules[given.submodule] ?? {} }) };
      gitmodules += `[submodule "${at}"]\npath = ${at}\nurl = ../${given.submodule}.git\n`;
    }
  }
  return { repo: url, commit: await commit({ files: gitmodules ? { ...files, '.gitmodules': gitmodules } : files }) };
}

/** A gateway that responds to everything with 204, and records the requests with their bodies and secret headers. */
async function startGateway(t: TestContext) {
  const requests: string[] = [];
  const gateway = createServer(async (request, response) => {
    const { method, url, headers } = request;
    const body = await streamText(request);
    requests.push(`${method} ${url}${headers.authorization ? ' (Authorization)' : ''}${body && ` ${body}`}`);
    response.writeHead(204).end();
  });
  return { requests, port: await openPort(t, gateway) };
}

async function write(root: string, files: Record<string, string | null>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, name);
    await mkdir(path.dirname(file), { recursive: true });
    await (content === null ? rm(file) : writeFile(file, content));
  }
}

async function runExample(t: TestContext, name: string, example: Example): Promise<void> {
  const { profile, before = {}, drift, gateway, changes, requests, volume, modes = {} } = example;
  const { port, requests: received } = await startGateway(t);
  const sandbox = await createSandbox(t, { port });
  const resolved = resolveProfile({ profiles: { default: profile } }, 'default');
  assert.ok(resolved);
  const reload = reloadSettings({ gateway: v.parse(gatewaySyncSpecSchema.entries.gateway, gateway) });
  for (const { secretRef } of reload.requests.flatMap(({ headersFrom = [] }) => headersFrom)) {
    await write(path.join(sandbox.directory, 'headers'), { [`${secretRef.name}/${secretRef.key}`]: 'secret' });
  }
  const submodules = example.submodules !== undefined;
  const target = { ...(await commitExample(name, example)), profile: resolved, submodules, reload };
  await write(sandbox.data, before);
  let { plan } = await sandbox.sync(target);
  if (drift) {
    await write(sandbox.data, drift);
    plan = (await sandbox.sync(target)).plan;
  }
  await sandbox.reload(target);
  assert.deepEqual(await sandbox.files(), Object.fromEntries(Object.entries(volume).sort()));
  for (const [file, mode] of Object.entries(modes))
    assert.equal((await stat(path.join(sandbox.data, file))).mode & 0o7777, Number.parseInt(mode, 8), file);
  if (changes) assert.deepEqual(describeChanges(plan, changes.length + 1), changes);
  assert.deepEqual(received, requests ?? []);
}

for (const [page, topics] of Object.entries(TOPICS)) {
  const text = await readFile(path.join(docs, page), 'utf8');
  suite(`docs/${page}`, () => {
    let heading = '';
    const headings: string[] = [];
    for (const [, title, yaml] of text.matchAll(/^##? (.+)$|^```yaml\n([\s\S]*?)^```$/gm)) {
      heading = title ?? heading;
      const example = yaml === undefined ? undefined : (parse(yaml) as Partial<Example>);
      if (!example?.volume || !example.repository || !example.profile) continue;
      headings.push(heading);
      const name = `${path.basename(page, '.md')}-${headings.length}`;
      test(`${heading}: ${name}`, (t) => runExample(t, name, example as Example));
    }

    for (const topic of topics) {
      test(`${topic} has an example`, () => assert.ok(headings.includes(topic)));
    }
  });
}
