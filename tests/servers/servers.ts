import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import path from 'node:path';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { isExecutable } from '../../scripts/testbed/is-executable.ts';
import { type DocumentedServer, documentedServer } from './documented-server.ts';
import { logIn } from './mqtt.ts';

/** Ports of one server; its configuration gets them from the labels of the pod. */
export interface Ports {
  /** For HTTP. */
  port: number;
  /** For another protocol, if the server has one. */
  other: number;
}

/** A real server that reloads its configuration when it gets a signal. */
export interface Server {
  name: string;
  /** Settings of the gateway, as in the docs. */
  gateway: DocumentedServer['gateway'];
  /** Message of a gateway whose configuration is damaged. */
  failure: RegExp;
  /** Returns the file of the configuration that contains the version, with templates. */
  file: string;
  files(version: string): Record<string, string>;
  /** Returns files that the server rejects. */
  damaged(version: string): Record<string, string>;
  /** Returns the commands of the containers, to be started in the data volume. */
  commands(ports: Ports): Promise<string[][]>;
  /** Returns whether a running server uses the configuration of this version. */
  answers(version: string, ports: Ports): Promise<boolean>;
}

const textOf = async ({ port }: Ports, url: string): Promise<string> =>
  await (await fetch(`http://127.0.0.1:${port}${url}`)).text();

/** Directories of programs that the PATH of some users lacks. */
const PROGRAM_PATH = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin'];

/** Returns the path of a program, or undefined if it isn't installed. */
export const programPath = (name: string): string | undefined =>
  PROGRAM_PATH.map((directory) => path.join(directory, name)).find(isExecutable);

/** Inserts text before another one, which must be there once. */
function insertBefore(text: string, before: string, inserted: string): string {
  assert.equal(text.split(before).length, 2, before);
  return text.replace(before, () => `${inserted}\n${before}`);
}

const nginxDocs = documentedServer('nginx');
const nginxConfiguration = (version: string) =>
  insertBefore(nginxDocs.configuration, 'location / {', `location = /version { return 200 "${version}"; }`)
    .replace('listen 8080', 'listen 127.0.0.1:{{ .Labels.port }}')
    .replace('/tmp/nginx.pid', 'nginx.pid');

const nginx: Server = {
  ...nginxDocs,
  name: 'nginx',
  failure: /responded with 503 to GET \/sync/,
  file: 'nginx.conf',
  files: (version) => ({ 'nginx.conf': nginxConfiguration(version) }),
  damaged: (version) => ({ 'nginx.conf': `${nginxConfiguration(version)} }` }),
  commands: async () => [[programPath('nginx') ?? '', '-p', '.', '-c', 'config/nginx.conf', '-g', 'daemon off;']],
  answers: async (version, ports) => (await textOf(ports, '/version')) === version,
};

const haproxyDocs = documentedServer('HAProxy');
const haproxyConfiguration = (version: string) => {
  const answer = `  http-request return status 200 content-type text/plain string "${version}" if { path /version }`;
  const withVersion = insertBefore(haproxyDocs.configuration, '  http-request return status 204', answer);
  return withVersion.replace('bind :8080', 'bind 127.0.0.1:{{ .Labels.port }}');
};

const haproxy: Server = {
  ...haproxyDocs,
  name: 'haproxy',
  failure: /responded with 503 to GET \/sync/,
  file: 'haproxy.cfg',
  files: (version) => ({ 'haproxy.cfg': haproxyConfiguration(version) }),
  damaged: (version) => ({ 'haproxy.cfg': `${haproxyConfiguration(version)}  no such keyword\n` }),
  commands: async () => [[programPath('haproxy') ?? '', '-W', '-db', '-f', 'config/haproxy.cfg']],
  answers: async (version, ports) => (await textOf(ports, '/version')) === version,
};

const PASSWORD = 'secret';
const SALT = Buffer.from('0123456789ab');
/** A password in the format of mosquitto_passwd. */
const HASH = `$7$101$${SALT.toString('base64')}$${pbkdf2Sync(PASSWORD, SALT, 101, 64, 'sha512').toString('base64')}`;

const mosquittoDocs = documentedServer('Mosquitto');
const mosquittoFiles = (passwords: string) => ({
  'mosquitto.conf': mosquittoDocs.configuration
    .replace('listener 1883', 'listener {{ .Labels.other }} 127.0.0.1')
    .replace('/data/', ''),
  passwords,
});

const mosquitto: Server = {
  ...mosquittoDocs,
  name: 'mosquitto',
  failure: /responded with 503 to GET \/sync/,
  file: 'passwords',
  files: (version) => mosquittoFiles(`{{ .Commit }}:${HASH}\n${version}:${HASH}\n`),
  damaged: (version) => mosquittoFiles(`${version}\n`),
  commands: async ({ port, other }) => [
    [programPath('mosquitto') ?? '', '-c', 'config/mosquitto.conf'],
    [process.execPath, path.join(import.meta.dirname, 'mqtt-health.ts'), `${port}`, `${other}`, PASSWORD],
  ],
  answers: (version, { other }) => logIn(other, { user: version, password: PASSWORD }),
};

const prometheusDocs = documentedServer('Prometheus');
const prometheusConfiguration = (version: string) =>
  prometheusDocs.configuration
    .replace('scrape_interval: 15s', `scrape_interval: 1s\n  external_labels: {version: ${version}}`)
    .replace('localhost:9090', '127.0.0.1:{{ .Labels.port }}');

const prometheus: Server = {
  ...prometheusDocs,
  name: 'prometheus',
  failure: /responded with 422 to GET \/api\/v1\/query/,
  file: 'prometheus.yml',
  files: (version) => ({ 'prometheus.yml': prometheusConfiguration(version) }),
  damaged: (version) => ({ 'prometheus.yml': `${prometheusConfiguration(version)}unknown: {}\n` }),
  commands: async ({ port }) => [
    [
      (await findBinaries('prometheus')).prometheus,
      '--config.file=config/prometheus.yml',
      '--storage.tsdb.path=prometheus-data',
      `--web.listen-address=127.0.0.1:${port}`,
    ],
  ],
  answers: async (version, ports) => (await textOf(ports, '/api/v1/status/config')).includes(`version: ${version}`),
};

export const servers: Server[] = [nginx, haproxy, mosquitto, prometheus];
