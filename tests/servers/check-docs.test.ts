import assert from 'node:assert/strict';
import { chmod, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { documented, makeCheckout } from '../support/documented-checks.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { programPath } from './servers.ts';

const nginx = programPath('nginx');
const kubectlStoker = path.join(import.meta.dirname, '../../cli/main.ts');

/** Runs a command of an image with the program of this machine, and a directory instead of the volume. */
const DOCKER = `#!/bin/sh -e
[ "$1" = run ] && [ "$2" = --rm ] && [ "$3" = --volume ]
source=\${4%:/tree:ro}
shift 4
if [ "$1" = --entrypoint ]; then program=$2; shift 2; fi
shift
exec $program $(echo "$@" | sed "s|/tree/|$source/|")
`;

/** Returns a PATH with the programs that the examples use, and a `curl` that downloads the plugin. */
async function makePath(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t, 'check-docs-path-');
  const scripts = {
    curl: `#!/bin/sh\nexec tar -cz --directory ${directory} kubectl-stoker\n`,
    docker: DOCKER,
    'kubectl-stoker': `#!/bin/sh\nexec ${process.execPath} ${kubectlStoker} "$@"\n`,
  };
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(path.join(directory, name), script);
    await chmod(path.join(directory, name), 0o755);
  }
  await symlink(nginx ?? '', path.join(directory, 'nginx'));
  await symlink((await findBinaries('promtool')).promtool, path.join(directory, 'promtool'));
  return `${directory}:${process.env.PATH}`;
}

/** Directories that nginx creates even for a test of its configuration, in the temporary directory of the test. */
const STATE = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** Files as the page describes them. Only the included file differs between the gateways. */
function filesIn(state: string) {
  const temporary = STATE.map((name) => `${name}_temp_path ${state}/${name};`).join(' ');
  const http = `http { ${temporary} access_log off; include {{ .GatewayName }}.conf; }`;
  return {
    'nginx/nginx.conf': `pid ${state}/nginx.pid;\nerror_log stderr;\nevents {}\n${http}\n`,
    'nginx/core.conf': 'server { listen 8080; }\n',
    'nginx/edge.conf': 'server { listen 8081; }\n',
    'prometheus/prometheus.yml': 'global: {scrape_interval: 15s}\n',
  };
}

/** Returns functions that run all commands of an example for both gateways, as its runner does. */
async function arrange(t: TestContext, changed: Record<string, string> = {}) {
  const state = await temporaryDirectory(t, 'check-docs-nginx-');
  const root = await makeCheckout(t, { ...filesIn(state), ...changed });
  const env = { ...process.env, PATH: await makePath(t) };
  const run = (command: string, more: NodeJS.ProcessEnv = {}) =>
    runCommand('sh', ['-c', command], { cwd: root, env: { ...env, ...more } });
  return {
    github: async () => {
      for (const gateway of ['core', 'edge']) {
        for (const command of documented.github) await run(command.replace(/\$\{\{ matrix\.gateway \}\}/, gateway));
        await rm(path.join(root, 'tree'), { recursive: true });
      }
    },
    gitlab: async () => {
      for (const command of documented.gitlab)
        for (const GATEWAY of command.includes('$GATEWAY') ? ['core', 'edge'] : ['']) await run(command, { GATEWAY });
    },
  };
}

/** Each has valid syntax for `checks`, and is only wrong for the program that reads it. */
const MISTAKES = [
  {
    what: 'an nginx.conf of the first gateway',
    files: { 'nginx/core.conf': 'server { listen 8080; no_such_directive on; }\n' },
    message: /nginx[\s\S]*unknown directive "no_such_directive" in \S+\/core\.conf:1/,
  },
  {
    what: 'a prometheus.yml',
    files: { 'prometheus/prometheus.yml': 'global: {scrape_interval: soon}\n' },
    message: /promtool[\s\S]*not a valid duration string: "soon"/,
  },
];

suite('the commands of docs/how-to/check-files.md', { skip: nginx ? false : 'they need nginx' }, () => {
  for (const host of ['github', 'gitlab'] as const) {
    test(`accept good files on ${host}`, async (t) => await (await arrange(t))[host]());

    for (const { what, files, message } of MISTAKES) {
      test(`fail on ${host} because of a mistake in ${what}`, async (t) => {
        await assert.rejects((await arrange(t, files))[host](), { message });
      });
    }
  }
});
