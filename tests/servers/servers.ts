import { pbkdf2Sync } from 'node:crypto';
import path from 'node:path';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { isExecutable } from '../../scripts/testbed/is-executable.ts';
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
  signal: { name: string; process: string };
  verify: { path: string }[];
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

const nginxConfiguration = (version: string) => `
pid nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  server {
    listen 127.0.0.1:{{ .Labels.port }};
    location = /version { return 200 "${version}"; }
    location = /healthz {
      if ($http_x_sync_commit != "{{ .Commit }}") { return 503; }
      return 204;
    }
  }
}
`;

const nginx: Server = {
  name: 'nginx',
  signal: { name: 'SIGHUP', process: 'nginx' },
  verify: [{ path: '/healthz' }],
  failure: /responded with 503 to GET \/healthz/,
  file: 'nginx.conf',
  files: (version) => ({ 'nginx.conf': nginxConfiguration(version) }),
  damaged: (version) => ({ 'nginx.conf': `${nginxConfiguration(version)} }` }),
  commands: async () => [[programPath('nginx') ?? '', '-p', '.', '-c', 'config/nginx.conf', '-g', 'daemon off;']],
  answers: async (version, ports) => (await textOf(ports, '/version')) === version,
};

const haproxyConfiguration = (version: string) => `
defaults
  mode http
  timeout connect 5s
  timeout client 5s
  timeout server 5s
frontend web
  bind 127.0.0.1:{{ .Labels.port }}
  http-request return status 200 content-type text/plain string "${version}" if { path /version }
  http-request return status 204 if { path /healthz } { req.hdr(X-Sync-Commit) "{{ .Commit }}" }
  http-request return status 503
`;

const haproxy: Server = {
  name: 'haproxy',
  signal: { name: 'SIGUSR2', process: 'haproxy' },
  verify: [{ path: '/healthz' }],
  failure: /responded with 503 to GET \/healthz/,
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

const mosquittoConfiguration = (users: string) => ({
  'mosquitto.conf': `
user root
listener {{ .Labels.other }} 127.0.0.1
allow_anonymous false
password_file config/passwords
`,
  passwords: users,
});

const mosquitto: Server = {
  name: 'mosquitto',
  signal: { name: 'SIGHUP', process: 'mosquitto' },
  verify: [{ path: '/healthz' }],
  failure: /responded with 503 to GET \/healthz/,
  file: 'passwords',
  files: (version) => mosquittoConfiguration(`{{ .Commit }}:${HASH}\n${version}:${HASH}\n`),
  damaged: (version) => mosquittoConfiguration(`${version}\n`),
  commands: async ({ port, other }) => [
    [programPath('mosquitto') ?? '', '-c', 'config/mosquitto.conf'],
    [process.execPath, path.join(import.meta.dirname, 'mqtt-health.ts'), `${port}`, `${other}`, PASSWORD],
  ],
  answers: (version, { other }) => logIn(other, { user: version, password: PASSWORD }),
};

const prometheusConfiguration = (version: string) => `
global: {scrape_interval: 1s, external_labels: {version: "${version}"}}
scrape_configs:
  - {job_name: self, static_configs: [{targets: ["127.0.0.1:{{ .Labels.port }}"]}]}
`;

/** Fails while the last reload failed, because two series on the right then match the one on the left. */
const FAILED = 'prometheus_config_last_reload_successful == 0';
const QUERY = `vector(1) * on() (${FAILED} or label_replace(${FAILED}, "x", "x", "", ""))`;

const prometheus: Server = {
  name: 'prometheus',
  signal: { name: 'SIGHUP', process: 'prometheus' },
  verify: [{ path: '/-/ready' }, { path: `/api/v1/query?query=${encodeURIComponent(QUERY)}` }],
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
