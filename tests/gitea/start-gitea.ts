import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { userInfo } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { createCertificates } from '../../scripts/testbed/certificates.ts';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { startGuarded, tailOf } from '../../scripts/testbed/guarded-process.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { makeTemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';
import { until } from '../support/until.ts';

/** A real Gitea with one user. */
export interface Gitea {
  url: string;
  caFile: string;
  ca: string;
  user: { name: string; password: string };
  /** Calls its API as the user; throws if the status isn't 2xx. */
  api<T>(method: string, path: string, body?: object): Promise<T>;
  /** Makes a token with scopes such as `write:repository`. */
  token(name: string, scopes: string[]): Promise<string>;
  stop(): Promise<void>;
}

const user = { name: 'plant', password: 'a-long-password-for-tests' };

/** Starts Gitea with SQLite on a free loopback port, over HTTPS with a certificate of a private CA. */
export async function startGitea(): Promise<Gitea> {
  const { gitea } = await findBinaries('gitea');
  const directory = await makeTemporaryDirectory('gitea-');
  const { caFile, certFile, keyFile } = await createCertificates(directory.path);
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const config = path.join(directory.path, 'app.ini');
  await writeFile(
    config,
    configuration({ directory: directory.path, port, certFile, keyFile, data: path.dirname(gitea) }),
  );
  const log = path.join(directory.path, 'gitea.log');
  const { PATH } = process.env;
  const env = { PATH, HOME: directory.path, USER: userInfo().username, GITEA_WORK_DIR: directory.path };
  const server = startGuarded(gitea, ['web', '--config', config], { env, output: { log } });
  const stop = async () => {
    await server.stop();
    await directory.remove();
  };
  const ca = await readFile(caFile, 'utf8');
  await until(async () => server.hasExited() || (await call(`${url}/api/healthz`, { ca })), {
    describe: 'Gitea answers',
    interval: 200,
  });
  if (server.hasExited()) throw new Error(`Gitea ended:\n${await tailOf(log)}`);
  const account = ['--username', user.name, '--password', user.password, '--email', 'plant@example.test'];
  const create = ['admin', 'user', 'create', '--config', config, '--admin', '--must-change-password=false', ...account];
  await runCommand(gitea, create, { cwd: directory.path, env });
  const auth = `${user.name}:${user.password}`;
  const api = async <T>(method: string, path: string, body?: object): Promise<T> =>
    JSON.parse((await call(`${url}/api/v1${path}`, { method, ca, auth, body })) || 'null') as T;
  return {
    url,
    caFile,
    ca,
    user,
    api,
    stop,
    token: async (name, scopes) =>
      (await api<{ sha1: string }>('POST', `/users/${user.name}/tokens`, { name, scopes })).sha1,
  };
}

interface Call {
  method?: string;
  ca: string;
  /** User and password. */
  auth?: string;
  body?: object | undefined;
}

/** Returns the body of a response; throws if the status isn't 2xx. */
async function call(url: string, { body, ...options }: Call): Promise<string> {
  const sent = request(url, { ...options, headers: { 'Content-Type': 'application/json' } });
  sent.end(body && JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const answer = await text(response);
  const { statusCode = 0 } = response;
  if (statusCode < 200 || statusCode > 299) throw new Error(`${options.method} ${url}: ${statusCode} ${answer}`);
  return answer;
}

interface Places {
  directory: string;
  port: number;
  certFile: string;
  keyFile: string;
  /** Directory of the files that Gitea ships. */
  data: string;
}

function configuration({ directory, port, certFile, keyFile, data }: Places): string {
  return `
RUN_MODE = prod
RUN_USER = ${userInfo().username}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = ${directory}
[server]
PROTOCOL = https
HTTP_ADDR = 127.0.0.1
HTTP_PORT = ${port}
ROOT_URL = https://127.0.0.1:${port}/
CERT_FILE = ${certFile}
KEY_FILE = ${keyFile}
STATIC_ROOT_PATH = ${data}
DISABLE_SSH = true
OFFLINE_MODE = true
[database]
DB_TYPE = sqlite3
PATH = ${directory}/gitea.db
; How long to wait for another writer (ms), instead of 500: an account is created while the server runs.
SQLITE_TIMEOUT = 60000
[security]
INSTALL_LOCK = true
SECRET_KEY = for-tests
PASSWORD_HASH_ALGO = pbkdf2$1000$50
[webhook]
ALLOWED_HOST_LIST = loopback
[repository]
ROOT = ${directory}/repositories
DEFAULT_BRANCH = main
[actions]
ENABLED = false
[packages]
ENABLED = false
[session]
PROVIDER = memory
[log]
MODE = console
LEVEL = Info
`;
}
