import path from 'node:path';
import { build } from 'esbuild';
import { apply, imageOf, kubectl, kubectlWith } from './cluster.ts';

/** A git server that runs as a pod. */
export interface GitServer {
  /** URL of the repository, from inside the cluster. */
  url: string;
  /** Commits a file to `main` and gives the commit's hash. */
  commit(file: string, content: string): Promise<string>;
  /** Runs a command in the server's pod and gives its stdout. */
  exec(...command: string[]): Promise<string>;
}

const labels = { app: 'git' };

/** Starts a git server with one empty repository and waits until it responds. */
export async function startGitServer(namespace: string): Promise<GitServer> {
  await apply(await program(namespace), deployment(namespace), service(namespace));
  await kubectl('rollout', 'status', 'deployment/git', '--namespace', namespace, '--timeout=120s');
  const inPod = ['exec', '--stdin', '--namespace', namespace, 'deployment/git', '--'];
  return {
    url: `http://git.${namespace}.svc:8080/site.git`,
    commit: async (file, content) => {
      const output = await kubectlWith(content, ...inPod, 'sh', '-ec', commitScript, 'sh', file);
      return output.trim();
    },
    exec: (...command) => kubectl(...inPod, ...command),
  };
}

const commitScript = `
  export HOME=/tmp
  [ -d /srv/work ] || git clone --quiet /srv/git/site.git /srv/work 2>/dev/null
  cd /srv/work
  mkdir -p "$(dirname "$1")"
  cat > "$1"
  git add --all
  git -c user.name=e2e -c user.email=e2e@test commit --quiet --message "change $1"
  git push --quiet origin HEAD:main
  git rev-parse HEAD`;

/** The server's program, bundled into a ConfigMap: the pod does not need its own image. */
async function program(namespace: string): Promise<object> {
  const { outputFiles } = await build({
    entryPoints: [path.join(import.meta.dirname, '../git-server/main.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  });
  const metadata = { name: 'git-server', namespace };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'main.mjs': outputFiles[0]!.text } };
}

function deployment(namespace: string): object {
  const { repository, tag } = imageOf('agent');
  const container = {
    name: 'git',
    // It has git, Node and a shell.
    image: `${repository}:${tag}`,
    command: ['node', '/program/main.mjs'],
    ports: [{ containerPort: 8080 }],
    // Without a request, it would get almost no time on a busy machine.
    resources: { requests: { cpu: '50m' } },
    readinessProbe: { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 1 },
    volumeMounts: [
      { name: 'program', mountPath: '/program' },
      { name: 'repositories', mountPath: '/srv' },
    ],
  };
  const volumes = [
    { name: 'program', configMap: { name: 'git-server' } },
    { name: 'repositories', emptyDir: {} },
  ];
  const template = {
    metadata: { labels },
    spec: { containers: [container], volumes, terminationGracePeriodSeconds: 2 },
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'git', namespace },
    spec: { selector: { matchLabels: labels }, template },
  };
}

function service(namespace: string): object {
  const spec = { selector: labels, ports: [{ port: 8080 }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: 'git', namespace }, spec };
}
