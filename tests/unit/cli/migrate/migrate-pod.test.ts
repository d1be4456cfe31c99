import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readConfigMapSidecar } from '../../../../cli/migrate/config-map-sidecar.ts';
import { readGitRepo } from '../../../../cli/migrate/git-repo-volume.ts';
import { type Container, type Pod, type PodSpec, readManifest } from '../../../../cli/migrate/manifest.ts';
import { migratePod } from '../../../../cli/migrate/migrate-pod.ts';
import { isInside } from '../../../../cli/migrate/pod-paths.ts';
import { nameFor } from '../../../../cli/migrate/source.ts';
import { omit } from '../../../../shared/domain/text/objects.ts';
import { briefOf, linesOf, REPO, variable } from './pods.ts';

const html = { name: 'html', mountPath: '/git' };
const git = { repo: 'https://git.example.com/acme/site.git', ref: 'HEAD', submodules: true };

suite('a gitRepo volume', () => {
  const rights = 'differs spec.git.auth';
  const modules = 'differs spec.git.submodules';
  const readVolume = (gitRepo: { repository: string; revision?: string; directory?: string }) => {
    const found = readGitRepo({ name: 'v', gitRepo });
    if (found?.kind !== 'source') return found;
    assert.match(found.title, / v$/);
    return { ...omit(found, 'title'), notes: briefOf(found.notes) };
  };
  const repository = 'https://git.test/me/site.git';
  const whole = {
    kind: 'source',
    name: 'site',
    git: { repo: repository, ref: 'HEAD' },
    groupWrite: false,
    keepsLinks: true,
    directory: '.',
    place: { volume: 'v', path: 'site' },
    isOneTime: true,
    containers: [],
    notes: [rights, modules],
  };
  const at = (path: string) => ({ place: { volume: 'v', path } });
  const withRepo = (repo: string) => ({ git: { repo, ref: 'HEAD' } });
  const cut = 'todo spec.git.ref';
  const volumes: [given: object, changes: object][] = [
    [{}, {}],
    [{ revision: 'origin/main' }, { git: { repo: repository, ref: 'main' } }],
    [{ revision: 'c0ffee1' }, { git: { repo: repository, ref: 'c0ffee1' }, notes: [cut, rights, modules] }],
    [{ revision: 'c0ffee' }, { git: { repo: repository, ref: 'c0ffee' } }],
    [{ directory: './a/b/' }, at('a/b')],
    [{ directory: '.' }, at('')],
    [{ repository: 'https://git.test/me/site/.git/' }, withRepo('https://git.test/me/site/.git/')],
    [{ repository: 'git@git.test:/srv/site.git' }, withRepo('ssh://git@git.test/srv/site.git')],
    [{ repository: 'https://bob@git.test/me/site.git' }, { notes: ['dropped', rights, modules] }],
    [{ repository: 'ssh://bob@git.test/me/site.git' }, withRepo('ssh://bob@git.test/me/site.git')],
  ];
  for (const [given, changes] of volumes) {
    test(`is migrated as expected with ${JSON.stringify(given)}`, () => {
      assert.deepEqual(readVolume({ repository, ...given }), { ...whole, ...changes });
    });
  }

  test('has a reason if it stays or is rejected', () => {
    const whyOf = (given: object) => readVolume({ repository, ...given });
    for (const given of [{ directory: '../x' }, { repository: 'file:///x' }, { revision: 'a..b' }])
      assert.equal(whyOf(given)?.kind, 'stays', JSON.stringify(given));
    for (const user of ['bob:pass', ':pass', `ghp_x`, 'ATBBx', 'x'.repeat(30)])
      assert.equal(whyOf({ repository: `https://${user}@git.test/x` })?.kind, 'refused', user);
    for (const user of ['x'.repeat(29), 'AT-home', 'ghost'])
      assert.equal(whyOf({ repository: `https://${user}@git.test/x` })?.kind, 'source', user);
    assert.equal(readGitRepo({ name: 'v' }), undefined);
  });
});

test('a GatewaySync is named after the last part of its repository, as a valid Kubernetes name', () => {
  const names: [repo: string, name: string][] = [
    ['https://git.test/a/Site.git', 'site'],
    ['https://git.test/a/-x-', 'x'],
    ['https://git.test/a/é', 'site'],
    [`https://git.test/${'a'.repeat(49)}-b`, 'a'.repeat(49)],
    [`https://git.test/${'a'.repeat(60)}`, 'a'.repeat(50)],
  ];
  for (const [repo, name] of names) assert.equal(nameFor(repo), name, repo);
});

test('a path is inside a directory if it is below it or the same', () => {
  for (const [directory, file, expected] of [
    ['/a', '/a', true],
    ['/a', '/a/b', true],
    ['a/', '/a/b', true],
    ['', '/a', true],
    ['/a', '/ab', false],
    ['/a', '/a/..b', true],
  ] as const)
    assert.equal(isInside(directory, file), expected, `${file} in ${directory}`);
});

suite('a k8s-sidecar container', () => {
  const named = { repo: 'https://git.test/ops/boards.git', ref: 'main', directory: './boards/' };
  const read = (env: Record<string, string>, source: typeof named | undefined = named) => {
    const given = { LABEL: 'board', FOLDER: '/data/boards', ...env };
    const container = {
      name: 'copy',
      image: 'k8s-sidecar:1',
      volumeMounts: [{ name: 'v', mountPath: '/data' }],
      env: Object.entries(given).map(([name, value]) => variable(name, value)),
    };
    return readConfigMapSidecar(container, source);
  };
  const readSidecar = (...given: Parameters<typeof read>) => {
    const found = read(...given);
    return found.kind === 'source' ? { ...found, notes: briefOf(found.notes) } : found;
  };
  const linesIn = (env: Record<string, string>) => {
    const found = read(env);
    assert.ok(found.kind === 'source');
    return linesOf(found.notes).join('\n');
  };
  const whole = {
    kind: 'source',
    title: 'container copy',
    name: 'boards',
    git: { repo: named.repo, ref: 'main' },
    groupWrite: false,
    directory: 'boards',
    place: { volume: 'v', path: 'boards' },
    isOneTime: false,
    containers: ['copy'],
    notes: ['todo', 'differs'],
  };
  const request = { method: 'POST', path: '/reload' };
  const gateway = { port: 3000, reload: { requests: [request] } };
  const url = { REQ_URL: 'http://localhost:3000/reload' };
  const sidecars: [env: Record<string, string>, changes: object][] = [
    [{}, {}],
    [{ METHOD: 'LIST' }, { isOneTime: true }],
    [{ SCRIPT: '/run.sh' }, { notes: [...whole.notes, 'todo'] }],
    [{ ...url, REQ_METHOD: 'POST' }, { gateway }],
    [url, { gateway: { ...gateway, reload: { requests: [{ ...request, method: 'GET' }] } } }],
    [
      { ...url, REQ_METHOD: 'POST', REQ_USERNAME: 'x', REQ_PASSWORD: 'y' },
      { gateway, notes: [...whole.notes, 'todo REQ_USERNAME REQ_PASSWORD spec.gateway.reload.requests'] },
    ],
    [{ DEFAULT_FILE_MODE: '440' }, { mode: '0440' }],
    [{ DEFAULT_FILE_MODE: '0o640' }, { mode: '0640' }],
    [{ DEFAULT_FILE_MODE: '777' }, { notes: [...whole.notes, 'todo DEFAULT_FILE_MODE'] }],
    [{ SLEEP_TIME: '5', TZ: 'UTC' }, { notes: [...whole.notes, 'dropped SLEEP_TIME'] }],
  ];
  for (const [env, changes] of sidecars) {
    test(`is migrated as expected with ${Object.keys(env).join(' ') || 'no other variables'}`, () => {
      assert.deepEqual(readSidecar(env), { ...whole, ...changes });
    });
  }

  test('is migrated to the whole repository at HEAD by default', () => {
    const found = readSidecar({}, { ...named, ref: undefined, directory: '.' } as never);
    assert.deepEqual(found, { ...whole, git: { repo: named.repo, ref: 'HEAD' }, directory: '.' });
  });

  test('has notes with the ConfigMaps that it copied, and the annotation that named directories', () => {
    const env = { LABEL_VALUE: '1', NAMESPACE: 'ALL', FOLDER_ANNOTATION: 'x/directory' };
    const notes = linesIn(env);
    assert.match(notes, /board=1 .* ALL: .* boards,/);
    assert.match(notes, /annotation x\/directory/);
    assert.match(linesIn({}), /label board: (?:.|\n)*annotation k8s-sidecar-target-directory/);
  });

  test('stays without a mounted folder, or with an invalid ref', () => {
    for (const [env, ref, fact] of [
      [{ FOLDER: '' }, 'main', /FOLDER/],
      [{ FOLDER: '/x' }, 'main', /FOLDER \/x/],
      [{}, 'a..b', /a\.\.b/],
    ] as const) {
      const found = readSidecar(env, { ...named, ref });
      assert.ok(found.kind === 'stays');
      assert.match(found.why, fact);
    }
  });
});

suite('the pod of an application', () => {
  const app = { name: 'app', image: 'app', volumeMounts: [{ name: 'html', mountPath: '/html' }] };
  const sync = { name: 'sync', image: 'git-sync:v4.4.0', args: [REPO, '--period=1m'], volumeMounts: [html] };
  const emptyDir = { name: 'html', emptyDir: {} };
  type Given = Partial<PodSpec>;
  const migrated = (given: Given) => {
    const pod: Pod = { spec: { containers: [app, sync], volumes: [emptyDir], ...given } };
    const result = migratePod(pod, undefined);
    if (result.kind !== 'moved') return result;
    const { podFor, notes, ...rest } = result;
    return { ...rest, notes: briefOf({ lines: notes }), pod: podFor('site').spec };
  };
  const whole = { source: '.', destination: 'site.git', publish: 'atomic', links: 'keep' };
  const spec = (mapping: object = whole, more: object = {}) => {
    const sync = { profiles: { default: { mappings: [mapping] } } };
    return { git, polling: { interval: '1m' }, sync, ...more };
  };
  const moved = {
    kind: 'moved',
    name: 'site',
    spec: spec(),
    stays: [] as string[],
    notes: ['same'],
    pod: { containers: [app], volumes: [emptyDir] },
  };
  const readOnly = { ...app, name: 'first', volumeMounts: [{ name: 'html', mountPath: '/r', readOnly: true }] };
  const part = (subPath: string, name = 'app') => {
    return { ...app, name, volumeMounts: [{ name: 'html', mountPath: '/html', subPath }] };
  };
  const syncing = (option: string) => ({ containers: [app, { ...sync, args: [...sync.args, option] }] });
  const init = { ...sync, name: 'init', args: [...sync.args, '--one-time'] };
  const todo = { notes: ['same', 'todo'] };
  const pods: [what: string, Given, changes: object][] = [
    ['its files where they were', {}, {}],
    [
      'no volume that only git-sync mounted',
      {
        containers: [app, { ...sync, volumeMounts: [html, { name: 'key', mountPath: '/key' }] }],
        volumes: [emptyDir, { name: 'key', secret: { secretName: 'x' } }],
      },
      { notes: ['same', 'dropped'] },
    ],
    ['no init container of git-sync with the same files', { initContainers: [init] }, { notes: ['dropped', 'same'] }],
    [
      'the files of a one-time git-sync, which are followed from then on',
      { initContainers: [init], containers: [app] },
      { notes: ['same', 'differs spec.git.ref'] },
    ],
    [
      'files that the group can write',
      syncing('--group-write'),
      { spec: { ...spec(), sync: { defaults: { groupWrite: true }, ...spec().sync } }, ...todo },
    ],
    [
      'the part of the files that it sees',
      { containers: [part('site.git/public'), sync] },
      {
        spec: spec({ source: 'public', destination: '.' }),
        notes: ['same', 'differs'],
        pod: { ...moved.pod, containers: [part('site.git/public')] },
      },
    ],
    [
      'the files that another container mounts by themselves',
      { containers: [app, part('site.git/public', 'second'), sync] },
      {
        spec: spec(omit(whole, 'publish')),
        notes: ['same', 'differs'],
        pod: { ...moved.pod, containers: [app, part('site.git/public', 'second')] },
      },
    ],
    [
      'a file to touch that is one of them',
      syncing('--touch-file=/git/site.git/now'),
      {
        spec: spec(omit(whole, 'publish'), { gateway: { reload: { touchFile: 'site.git/now' } } }),
        notes: ['same', 'differs --touch-file', 'differs --touch-file'],
      },
    ],
    [
      'files with another mode',
      syncing('--change-permissions=0640'),
      { spec: spec({ ...whole, mode: '0640' }), notes: ['same', 'differs --change-permissions'] },
    ],
  ];
  const unchanged: [what: string, Given][] = [
    ['a user that the sidecar can run as', { securityContext: { runAsUser: 0 } }],
    ['init containers that find no files yet', { initContainers: [{ ...app, name: 'early' }] }],
    ['a volume that outlives the pod', { volumes: [{ name: 'html', hostPath: {} }] }],
  ];
  for (const [what, given] of unchanged) pods.push([what, given, { ...todo, pod: { ...moved.pod, ...given } }]);
  for (const [what, given, changes] of pods) {
    test(`keeps ${what}`, () => assert.deepEqual(migrated(given), { ...moved, ...changes }));
  }

  const moving = (containers: Container[], metadata: Pod['metadata'] = {}) => {
    const result = migratePod({ metadata, spec: { containers, volumes: [emptyDir] } }, undefined);
    assert.ok(result.kind === 'moved');
    return { result, state: result.podFor('site').metadata?.annotations?.['sync.io/state-directory'] };
  };

  test('keeps the files where each of its containers saw them', () => {
    const { result } = moving([readOnly, app, sync]);
    const [places = '', ...others] = linesOf({ lines: result.notes });
    assert.match(places, /^same: .* first .* \/r\/site\.git, .* app .* \/html\/site\.git$/);
    assert.deepEqual(others, []);
  });

  test('gets the directory of the agent into the part of the volume that others mount with the link', () => {
    const args = [...sync.args, '--root=/git/deep/er'];
    const parts = [part('deep', 'second'), part('deep/er', 'third'), part('other', 'fourth')];
    const { result, state } = moving([app, ...parts, { ...sync, args }]);
    assert.deepEqual(result.spec, spec({ ...whole, destination: 'deep/er/site.git' }));
    assert.equal(state, 'deep/er/.sync-state');
    assert.equal(moving([app, sync]).state, undefined);
  });

  test('gets a directory of the agent beside the link, even if its pod has another one', () => {
    const stateFor = (link: string, own?: string) => {
      const containers = [app, part('deep', 'second'), { ...sync, args: [...sync.args, `--link=/git/deep/${link}`] }];
      return moving(containers, { annotations: { ...(own !== undefined && { 'sync.io/state-directory': own }) } })
        .state;
    };
    assert.equal(stateFor('site'), 'deep/.sync-state');
    assert.equal(stateFor('.sync-state'), 'deep/.sync-state-2');
    assert.equal(stateFor('.sync-state/site'), 'deep/.sync-state-2');
    assert.equal(stateFor('site', 'private'), 'deep/.sync-state');
  });

  const mounting = (...volumeMounts: NonNullable<Container['volumeMounts']>) => ({
    containers: [{ ...app, volumeMounts }, sync],
  });
  const isBlind = (name: string) => new RegExp(` container app .* ${name} `);
  const unmoved: [fact: RegExp, Given][] = [
    [/ volume html/, { containers: [sync] }],
    [isBlind('it'), { containers: [part('other'), sync] }],
    [isBlind('container second'), { containers: [part('site.git/a'), part('site.git', 'second'), sync] }],
    [isBlind('container second'), { containers: [part('site.git/a'), part('', 'second'), sync] }],
    [/parts of volume html/, mounting({ ...html, subPath: 'a' }, { ...html, mountPath: '/b', subPath: 'b' })],
    [/subPathExpr/, mounting({ ...html, subPathExpr: '$(X)' })],
  ];
  for (const [fact, given] of unmoved) {
    test(`stays unchanged because of ${fact.source}`, () => {
      const result = migrated(given);
      assert.equal(result.kind, 'unmoved');
      assert.match(result.stays.join(), fact);
    });
  }

  test('stays unchanged if no container delivers files from git', () => {
    assert.deepEqual(migrated({ containers: [app] }), { kind: 'unmoved', stays: [] });
  });
});

suite('a manifest', () => {
  const container = {
    name: 'a',
    command: ['x'],
    args: ['x'],
    envFrom: [{}],
    env: [{ name: 'x', valueFrom: { secretKeyRef: { key: 'k' }, configMapKeyRef: { key: 'k' } } }],
  };
  const items = [{ key: 'k', path: 'p' }];
  const pod = () => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'site', namespace: 'web', annotations: { a: 'b' } as Record<string, unknown> },
    spec: {
      containers: [{ ...container, volumeMounts: [{ name: 'v', mountPath: '/v' }], securityContext: {} }],
      initContainers: [container],
      ephemeralContainers: [container],
      securityContext: {},
      volumes: [
        { name: 'v', secret: { items }, configMap: { items }, gitRepo: { repository: 'r' } },
        { name: 'w', projected: { sources: [{ secret: { items }, configMap: { items } }] } },
      ],
    },
  });
  /** Fields of each kind with values of a wrong type. */
  const wrong: [path: string, value: unknown][] = [
    ['metadata.annotations.a', 1],
    ['spec.containers', undefined],
    ['spec.containers.0.args.0', 1],
    ['spec.containers.0.env.0.valueFrom.secretKeyRef.key', undefined],
    ['spec.containers.0.volumeMounts.0.readOnly', 1],
    ['spec.containers.0.securityContext.runAsUser', 'x'],
    ['spec.ephemeralContainers.0.name', 1],
    ['spec.securityContext', 1],
    ['spec.volumes.0.secret.items.0.path', 1],
    ['spec.volumes.1.projected.sources.0.secret.name', 1],
    ['spec.volumes.0.gitRepo.repository', 1],
  ];
  for (const [path, value] of wrong) {
    test(`has no valid pod with ${JSON.stringify(value)} as ${path}`, () => {
      const given: Record<string, unknown> = JSON.parse(JSON.stringify(pod()));
      const keys = path.split('.');
      const last = keys.pop() as string;
      const place = keys.reduce((inner, key) => inner[key] as typeof given, given);
      place[last] = value;
      const { workloads, problems } = readManifest([given]);
      assert.equal(workloads.length, 0);
      assert.ok(problems[0]?.startsWith('Pod site ') && problems[0].includes(`: ${path}:`), `${problems}`);
    });
  }

  test('provides the pods of all workload kinds, and lists the other objects', () => {
    const template = omit(pod(), 'apiVersion', 'kind');
    const makes = (kind: string, fields: object) => ({ kind, metadata: { name: kind.toLowerCase() }, ...fields });
    const list = { kind: 'List', items: [makes('Deployment', { spec: { template } }), null] };
    const found = readManifest([
      ...[pod(), undefined, null, list, { kind: 'PodList', items: [pod()] }],
      makes('CronJob', { spec: { jobTemplate: { spec: { template } } } }),
      makes('PodTemplate', { template }),
      { kind: 'Job', metadata: { generateName: 'once-' }, spec: { template } },
      { ...makes('GatewaySync', {}), metadata: { name: 'g', namespace: 'n' } },
      makes('Service', {}),
      { kind: 'ListOfTypo', metadata: {}, items: [] },
      ...['text', 1, ['x'], {}, { kind: 1 }],
    ]);
    const names = found.workloads.map(({ kind, name, namespace = '' }) => `${kind} ${namespace}/${name}`).join();
    const ofKinds = 'Deployment /deployment,Pod web/site,CronJob /cronjob,PodTemplate /podtemplate,Job /once-';
    assert.equal(names, `Pod web/site,${ofKinds}`);
    assert.deepEqual(found.others, ['GatewaySync g', 'Service service', 'ListOfTypo without a name']);
    assert.deepEqual(found.gatewaySyncs, [{ namespace: 'n', name: 'g' }]);
    assert.equal(found.problems.length, 5);
    for (const problem of found.problems) assert.match(problem, /kind/);
  });

  test('loses all fields that only the cluster writes', () => {
    const state = { managedFields: [], uid: 'u', resourceVersion: '1', generation: 2, creationTimestamp: 't' };
    const written = {
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      'deployment.kubernetes.io/revision': '3',
    };
    const template = { spec: { containers: [] } };
    const spec = { template: pod(), x: 1 };
    const withoutState = (annotations: object) => {
      const metadata = { name: 'd', ...state, selfLink: '/', annotations };
      const [workload] = readManifest([{ kind: 'Deployment', metadata, spec, status: {} }]).workloads;
      return workload?.withPod(template);
    };
    const rest = { kind: 'Deployment', spec: { template, x: 1 } };
    assert.deepEqual(withoutState(written), { ...rest, metadata: { name: 'd' } });
    const noted = { ...rest, metadata: { name: 'd', annotations: { team: 'web' } } };
    assert.deepEqual(withoutState({ ...written, team: 'web' }), noted);
  });
});
