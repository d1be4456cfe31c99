import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AdmittedPod } from '../../../../controller/injection/admitted-pod.ts';
import { type Injection, type InjectionInput, injectSidecar } from '../../../../controller/injection/inject-sidecar.ts';
import type { SidecarDefaults } from '../../../../controller/injection/sidecar.ts';
import { type ObservedSpec, projectSpec } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { Mapping } from '../../../../shared/api/sync.ts';
import type { PatchOperation } from '../../../../shared/domain/kubernetes/json-patch.ts';
import { gatewaySpecOf } from '../../../support/objects.ts';

type Injected = Extract<Injection, { kind: 'patched' }>;

interface Sidecar {
  image: string;
  env: { name: string; value?: string; valueFrom?: object }[];
  ports: { name: string; containerPort: number }[];
  resources: object;
  securityContext: Record<string, unknown>;
  volumeMounts: { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[];
}

const images = { defaultImage: 'registry.test/agent:1', allowedRepositories: [] };
const gateway = {
  name: 'gateway',
  volumeMounts: [{ name: 'data', mountPath: '/usr/local/data' }],
  securityContext: { runAsUser: 2003 },
};

function pod(spec: Partial<AdmittedPod['spec']> = {}, metadata: AdmittedPod['metadata'] = {}): AdmittedPod {
  return {
    metadata: { name: 'gateway-0', ...metadata, annotations: { 'sync.io/inject': 'true', ...metadata.annotations } },
    spec: { containers: [gateway], volumes: [{ name: 'data', emptyDir: {} }], ...spec },
  };
}

function inject(given: AdmittedPod, spec: ObservedSpec = gatewaySpecOf(), defaults?: SidecarDefaults): Injection {
  const candidates = [{ name: 'app', spec }];
  return injectSidecar({ pod: given, namespace: 'plant', candidates, images, defaults });
}

function patchOf(injection: Injection): PatchOperation[] {
  assert.equal(injection.kind, 'patched', JSON.stringify(injection));
  return injection.kind === 'patched' ? injection.patch : [];
}

/** The message of a denial, or what happened instead. */
const messageOf = (injection: Injection) => (injection.kind === 'denied' ? injection.message : injection.kind);

function sidecarOf(injection: Injection): Sidecar {
  const found = patchOf(injection).find(({ path }) => path.startsWith('/spec/initContainers'))?.value;
  return (Array.isArray(found) ? found[0] : found) as Sidecar;
}

const variable = ({ env }: Sidecar, name: string) => env.find((entry) => entry.name === name);

suite('an injected pod', () => {
  test('gets only necessary additions', () => {
    const labels = { 'app.kubernetes.io/name': 'press' };
    const patch = patchOf(inject(pod({ initContainers: [{ name: 'own' }] }, { labels })));
    assert.deepEqual(
      patch.map(({ op, path }) => `${op} ${path}`),
      [
        'add /metadata/annotations/sync.io~1injected',
        'add /metadata/annotations/sync.io~1cr-name',
        'add /metadata/annotations/cluster-autoscaler.kubernetes.io~1safe-to-evict-local-volumes',
        'add /metadata/labels/sync.io~1agent',
        'add /spec/initContainers/-',
        ...Array.from({ length: 4 }, () => 'add /spec/volumes/-'),
      ],
    );
  });

  test("passes the gateway's mounts inside the data volume to the agent", () => {
    const mounts = [...gateway.volumeMounts, { name: 'logs', mountPath: '/usr/local/data/$(logs)' }];
    const injected = sidecarOf(inject(pod({ containers: [{ ...gateway, volumeMounts: mounts }] })));
    assert.equal(variable(injected, 'DATA_MOUNTS')?.value, '["$$(logs)"]');
    assert.equal(variable(sidecarOf(inject(pod())), 'DATA_MOUNTS'), undefined);
  });

  test('is identified by its label, its annotation, or else its own name', () => {
    const named = (metadata: AdmittedPod['metadata']) => variable(sidecarOf(inject(pod({}, metadata))), 'GATEWAY_NAME');
    const labels = { 'app.kubernetes.io/name': 'press' };
    assert.equal(named({ labels })?.value, 'press');
    assert.equal(named({ labels, annotations: { 'sync.io/gateway-name': 'Press 3' } })?.value, 'Press 3');
    assert.deepEqual(named({ generateName: 'press-' })?.valueFrom, { fieldRef: { fieldPath: 'metadata.name' } });
  });

  test('keeps a dollar sign in a name, which the kubelet would treat as a variable, and a long name', () => {
    for (const [name, value] of [
      ['$(POD_UID)', '$$(POD_UID)'],
      ['x'.repeat(512), 'x'.repeat(512)],
    ]) {
      const annotations = { 'sync.io/gateway-name': name ?? '' };
      assert.equal(variable(sidecarOf(inject(pod({}, { annotations }))), 'GATEWAY_NAME')?.value, value);
    }
  });

  test('is changed once only, even if its metadata was removed or forged', () => {
    const sidecar = { name: 'sync-agent', env: [{ name: 'CR_NAME', value: 'app' }, { name: 'DATA_PATH' }] };
    const injected = { 'sync.io/injected': 'true', 'sync.io/cr-name': 'app' };
    const labels = { 'sync.io/agent': 'true' };
    const whole = pod({ initContainers: [sidecar] }, { labels, annotations: injected });
    assert.deepEqual(inject(whole), { kind: 'unchanged' });
    const bare = patchOf(inject(pod({ initContainers: [sidecar] })));
    assert.deepEqual(
      bare.map(({ path, value }) => [path, value]),
      [
        ['/metadata/annotations/sync.io~1injected', 'true'],
        ['/metadata/annotations/sync.io~1cr-name', 'app'],
        ['/metadata/labels', { 'sync.io/agent': 'true' }],
      ],
    );
    assert.ok(sidecarOf(inject(pod({}, { labels, annotations: injected }))), 'metadata alone is no sidecar');
    const copied = { ...sidecar, env: [...sidecar.env, { name: 'PROFILE', value: 'blue' }] };
    const [byVariables, byAnnotation] = [{}, { 'sync.io/cr-name': 'named' }].map((annotations) => {
      const { patch: _, ...injection } = inject(pod({ containers: [gateway, copied] }, { annotations })) as Injected;
      return injection;
    });
    assert.deepEqual(byVariables, { kind: 'patched', crName: 'app', profile: 'blue' });
    assert.equal(byAnnotation?.crName, 'named');
    assert.equal((inject(pod({ initContainers: [sidecar] })) as Injected).profile, 'default');
  });

  test("keeps volumes that have the names of the sidecar's", () => {
    const volumes = [{ name: 'data', emptyDir: {} }, { name: 'sync-agent-tmp' }, { name: 'sync-agent-tmp-2' }];
    const injection = inject(pod({ volumes }));
    const added = patchOf(injection).flatMap(({ path, value }) => (path === '/spec/volumes/-' ? [value] : []));
    assert.ok(added.some((volume) => (volume as { name: string }).name === 'sync-agent-tmp-3'));
    const mount = sidecarOf(injection).volumeMounts.find(({ mountPath }) => mountPath === '/tmp');
    assert.equal(mount?.name, 'sync-agent-tmp-3');
  });

  test('has a sidecar that knows about a shared process namespace', () => {
    for (const shareProcessNamespace of [true, false]) {
      const sidecar = sidecarOf(inject(pod({ shareProcessNamespace })));
      const isShared = variable(sidecar, 'SHARE_PROCESS_NAMESPACE')?.value;
      assert.equal(isShared, shareProcessNamespace ? 'true' : undefined);
    }
  });

  test('gets a sidecar that runs as root, without privileges, if it does so explicitly and the installation allows it', () => {
    const asRoot = { runAsUser: 0, runAsGroup: 0 };
    const container = pod({ containers: [{ ...gateway, securityContext: asRoot }] });
    const whole = pod({ containers: [{ ...gateway, securityContext: {} }], securityContext: asRoot });
    for (const given of [container, whole])
      assert.deepEqual(sidecarOf(inject(given, gatewaySpecOf(), { allowRoot: true })).securityContext, {
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        readOnlyRootFilesystem: true,
        runAsNonRoot: false,
        seccompProfile: { type: 'RuntimeDefault' },
        ...asRoot,
      });
    const others = [pod(), pod({ containers: [{ ...gateway, securityContext: {} }] })];
    for (const given of others) {
      const { securityContext } = sidecarOf(inject(given, gatewaySpecOf(), { allowRoot: true }));
      assert.equal(securityContext.runAsNonRoot, true);
      assert.notEqual(securityContext.runAsUser, 0);
    }
  });

  const mounting = (...volumeMounts: { mountPath: string; subPath?: string }[]) => ({
    ...gateway,
    volumeMounts: volumeMounts.map((mount) => ({ name: 'data', ...mount })),
  });

  const mapping = { source: 'dags', destination: 'app/dags', required: true, template: false };
  const specOf = (mappings: Mapping[]) => {
    const given = gatewaySpecOf();
    return projectSpec(gatewaySpecOf({ sync: { ...given.sync, profiles: { default: { mappings } } } }));
  };

  test('is refused if a mount with subPath would stay with one tree of an atomic destination', () => {
    const destinations = ['./app/dags/', 'x/y/{{ .PodName }}', 'n-{{ .PodName }}', '{{ .PodName }}/z', '.'];
    const spec = specOf(destinations.map((destination) => ({ ...mapping, publish: 'atomic' as const, destination })));
    const messageWith = (subPath: string) => {
      const other = { ...mounting({ mountPath: '/dags', subPath }), name: 'other' };
      return messageOf(inject(pod({ containers: [gateway, other] }), spec));
    };
    for (const subPath of ['app/dags', 'app', 'app/dags/team'])
      assert.match(messageWith(subPath), / other .* app.* app\/dags\b/);
    // The destination of the second mapping is certainly in these directories.
    for (const subPath of ['x', 'x/y']) assert.match(messageWith(subPath), / x.* x\/y\b/);
    for (const subPath of ['app/other', 'apps', 'x/y/pod', 'x/z', 'n-', 'z'])
      assert.equal(messageWith(subPath), 'patched');
    assert.equal(inject(pod(), spec).kind, 'patched');
  });

  test('mounts the whole volume once if the agent keeps its files elsewhere in it', () => {
    const part = { ...gateway, volumeMounts: [{ name: 'data', mountPath: '/srv', subPath: './sites/www' }] };
    const annotations = { 'sync.io/state-directory': 'mes données//日本語/' };
    const sidecar = sidecarOf(inject(pod({ containers: [part] }, { annotations })));
    const mounts = sidecar.volumeMounts.filter(({ name }) => name === 'data');
    assert.deepEqual(mounts, [{ name: 'data', mountPath: '/data' }]);
    assert.equal(variable(sidecar, 'DATA_PATH')?.value, '/data');
    assert.equal(variable(sidecar, 'DATA_DIRECTORY')?.value, 'sites/www');
    assert.equal(variable(sidecar, 'STATE_DIRECTORY')?.value, 'mes données/日本語');
    const whole = sidecarOf(inject(pod({}, { annotations })));
    assert.equal(variable(whole, 'DATA_DIRECTORY'), undefined);
    const without = sidecarOf(inject(pod({ containers: [part] })));
    assert.equal(without.volumeMounts.find(({ name }) => name === 'data')?.subPath, './sites/www');
    for (const name of ['DATA_DIRECTORY', 'STATE_DIRECTORY']) assert.equal(variable(without, name), undefined);
  });

  const unusable = ['', 'a/../../b', '.', 'a/.git/b', `${'x'.repeat(300)}/y`, 'sites', 'sites/www'];
  for (const value of [...unusable, 'sites/www/.sync-agent/x', 'sites/.Sync-Agent', 'a /b', 'st\u202eate']) {
    test(`is refused with the state directory ${JSON.stringify(value.slice(0, 30))}`, () => {
      const part = { ...gateway, volumeMounts: [{ name: 'data', mountPath: '/srv', subPath: 'sites/www' }] };
      const annotations = { 'sync.io/state-directory': value };
      assert.match(messageOf(inject(pod({ containers: [part] }, { annotations }))), / sync\.io\/state-directory\b/);
    });
  }

  test('is refused with a state directory if the gateway seems to mount a single file', () => {
    const injectWith = (subPath: string) => {
      const part = { ...gateway, volumeMounts: [{ name: 'data', mountPath: '/srv/blog.test', subPath }] };
      return inject(pod({ containers: [part] }, { annotations: { 'sync.io/state-directory': 'state' } }));
    };
    assert.match(messageOf(injectWith('sites/blog.test')), /state-directory: .* sites\/blog\.test /);
    assert.equal(variable(sidecarOf(injectWith('sites/blog.test/')), 'DATA_DIRECTORY')?.value, 'sites/blog.test');
  });

  test("is refused if another volume covers the agent's directory", () => {
    const messageWith = (cover: string, state?: string, more: Partial<Mapping> = {}) => {
      const volumeMounts = [
        { name: 'data', mountPath: '/srv', subPath: 'www' },
        { name: 'cache', mountPath: cover },
      ];
      const other = {
        name: 'other',
        volumeMounts: [
          { name: 'data', mountPath: '/all' },
          { name: 'x', mountPath: '/all/www' },
        ],
      };
      const annotations: Record<string, string> = state === undefined ? {} : { 'sync.io/state-directory': state };
      const given = pod({ containers: [{ ...gateway, volumeMounts }, other] }, { annotations });
      return messageOf(inject(given, specOf([{ ...mapping, ...more }])));
    };
    for (const cover of ['/srv/cache', '/srv/cache/state', '/srv/cache/state/trees/x'])
      assert.match(messageWith(cover, 'www/cache/state'), / www\/cache\/state .* www\/cache\b/);
    assert.equal(messageWith('/srv/cache', 'www/state'), 'patched');
    assert.equal(messageWith('/srv/cache', 'state'), 'patched');
    assert.equal(messageWith('/srv/.sync-agent'), 'patched', 'the mount only hides files that no link leads to');
    const hidden = messageWith('/srv/.sync-agent', undefined, { publish: 'atomic' });
    assert.match(hidden, / www\/\.sync-agent .* www\/\.sync-agent\b/);
    assert.equal(messageWith('/srv/cache', undefined, { publish: 'atomic' }), 'patched');
  });

  test('is refused if atomic destinations and the state directory do not fit together', () => {
    const spec = specOf([{ ...mapping, publish: 'atomic' }]);
    const injectWith = (state: string, subPath = '', other?: string) => {
      const containers = [{ ...mounting({ mountPath: '/srv', subPath }), name: 'gateway' }];
      if (other !== undefined) containers.push({ ...mounting({ mountPath: '/app', subPath: other }), name: 'other' });
      return inject(pod({ containers }, { annotations: { 'sync.io/state-directory': state } }), spec);
    };
    for (const state of ['www/app/dags', 'www/app/dags/x'])
      assert.match(messageOf(injectWith(state, 'www')), / www\/app\/dags\b/);
    assert.match(messageOf(injectWith('state', 'www')), / www\b.* app\/dags\b/);
    assert.match(messageOf(injectWith('state', '', 'app')), / other .* app .* subPath\b/);
    assert.match(messageOf(injectWith('app/.state', '', 'app/dags')), / other .* app\/dags .* subPath\b/);
    assert.equal(messageOf(injectWith('www/state', 'www')), 'patched');
    assert.equal(messageOf(injectWith('app/.state', '', 'app')), 'patched', 'the mount has the link and the trees');
  });

  test('gets the resources and the log level of the installation, unless it sets its own', () => {
    const defaults = { logLevel: 'debug', resources: { limits: { memory: '96Mi' } } };
    const byDefault = sidecarOf(inject(pod(), gatewaySpecOf(), defaults));
    assert.deepEqual(byDefault.resources, defaults.resources);
    const { resources: usual } = sidecarOf(inject(pod()));
    assert.deepEqual(usual, { requests: { cpu: '10m', memory: '64Mi' }, limits: { memory: '256Mi' } });
    assert.deepEqual(byDefault.resources, defaults.resources);
    const resources = { limits: { cpu: '1' } };
    assert.deepEqual(sidecarOf(inject(pod(), gatewaySpecOf({ agent: { resources } }), defaults)).resources, resources);
    const sharing = pod({ resources: { limits: { memory: '1Gi' } } });
    assert.deepEqual(sidecarOf(inject(sharing, gatewaySpecOf(), defaults)).resources, {});
  });

  test('gets the token of a GitHub App from the Secret that the controller writes', () => {
    const githubApp = { appId: 1, installationId: 2, privateKeySecretRef: { name: 'pem', key: 'pem' } };
    const git = { repo: 'https://git.test/app.git', ref: 'main', auth: { githubApp } };
    const volumes = patchOf(inject(pod(), gatewaySpecOf({ git }))).map(({ value }) => value as { name: string });
    const { projected } = volumes.find(({ name }) => name === 'sync-agent-credentials') as {
      projected?: { sources: { secret: { name: string; items: { path: string }[] } }[] };
    };
    const files = projected?.sources.map(({ secret }) => `${secret.name}: ${secret.items[0]?.path}`);
    assert.deepEqual(files, ['sync-git-token-app: git-token']);
  });
});

suite('a pod that is not injected', () => {
  for (const value of ['True', ' true', ''])
    test(`has the annotation ${JSON.stringify(value)}`, () => {
      assert.deepEqual(inject(pod({}, { annotations: { 'sync.io/inject': value } })), { kind: 'unchanged' });
    });

  const annotated = (key: string, value: string) => pod({}, { annotations: { [`sync.io/${key}`]: value } });
  const denials: [what: string, given: AdmittedPod, words: RegExp][] = [
    [
      'runs as root',
      pod({ containers: [{ ...gateway, securityContext: { runAsUser: 0 } }] }),
      /\b0, .* securityContext\b/,
    ],
    ...['profile', 'gateway-name', 'cr-name', 'data-volume'].map((key): [string, AdmittedPod, RegExp] => [
      `has an empty ${key}`,
      annotated(key, ' '),
      new RegExp(` sync\\.io/${key}\\b`),
    ]),
    ['has a name that is too long', annotated('gateway-name', 'x'.repeat(513)), / sync\.io\/gateway-name .* 512 /],
    ['has a line break in its name', annotated('gateway-name', 'a\nb'), / sync\.io\/gateway-name /],
    ['names another profile', annotated('profile', 'blue'), /\(default\)/],
  ];
  for (const [what, given, words] of denials)
    test(what, () => {
      const injection = inject(given);
      assert.equal(injection.kind, 'denied', JSON.stringify(injection));
      if (injection.kind !== 'denied') return;
      assert.match(injection.message, words);
      assert.equal(injection.because, what === 'names another profile' ? 'resource' : 'pod');
    });

  const choices: [what: string, resources: number, more: Partial<InjectionInput>, words: RegExp][] = [
    ['no resource', 0, {}, / GatewaySync .* plant\b/],
    ['as many as a message can name', 20, {}, /^several .*\(app-01, app-02, [^)]* app-20\) in /],
    ['more of them', 21, {}, /\(app-01, [^)]* app-20 and 1 more\)/],
    ['others that it cannot mean', 1, { others: ['b'] }, /^several .*\(app-01, b\)/],
    [
      'a forbidden image',
      1,
      { images: { ...images, allowedRepositories: ['x.test/y'] } },
      / evil\.test\/agent, .* x\.test\/y\b/,
    ],
  ];
  for (const [what, resources, more, words] of choices)
    test(`has ${what} to choose from`, () => {
      const spec = gatewaySpecOf({ agent: { image: { repository: 'evil.test/agent' } } });
      const names = Array.from({ length: resources }, (_, index) => `app-${String(index + 1).padStart(2, '0')}`);
      const candidates = names.reverse().map((name) => ({ name, spec }));
      const injection = injectSidecar({ pod: pod(), namespace: 'plant', candidates, images, ...more });
      assert.match(messageOf(injection), words);
      assert.equal(injection.kind === 'denied' && injection.because, 'resource');
    });

  test("names a resource that doesn't exist", () => {
    const { message, ...denial } = { message: '', ...inject(annotated('cr-name', 'gone')) };
    assert.deepEqual(denial, { kind: 'denied', because: 'resource' });
    assert.match(message, / plant; .*\(app\)$/);
  });

  test('already has its sidecar, wherever, and names no resource', () => {
    const sidecar = { name: 'sync-agent', env: [{ name: 'CR_NAME' }, { name: 'DATA_PATH' }] };
    assert.deepEqual(inject(pod({ initContainers: [sidecar] })), { kind: 'unchanged' });
    assert.deepEqual(inject(pod({ containers: [gateway, sidecar] })), { kind: 'unchanged' });
  });
});

suite('the ports of the sidecar are', () => {
  const portsFor = (annotations: Record<string, string>, ports: number[] = []) => {
    const containers = [{ ...gateway, ports: ports.map((containerPort) => ({ containerPort })) }];
    const injection = inject(pod({ containers }, { annotations }));
    return 'message' in injection
      ? injection.message
      : sidecarOf(injection).ports.map(({ containerPort }) => containerPort);
  };

  test('those of the annotations, which the others avoid', () => {
    assert.deepEqual(portsFor({ 'sync.io/health-port': '9001', 'sync.io/metrics-port': '9002' }), [9001, 9002]);
    assert.deepEqual(portsFor({ 'sync.io/metrics-port': '8082' }), [8083, 8082]);
    assert.deepEqual(portsFor({ 'sync.io/health-port': '8083' }), [8083, 8084]);
  });

  for (const port of ['80', '1023', '65536', '1e4', '9001 '])
    test(`refused if one is ${port}`, () => {
      assert.match(String(portsFor({ 'sync.io/health-port': port })), / 1024 .* 65535$/);
    });

  test('refused if one is in use', () => {
    assert.match(String(portsFor({ 'sync.io/health-port': '9001' }, [9001])), / 9001, /);
    const both = { 'sync.io/health-port': '9001', 'sync.io/metrics-port': '9001' };
    assert.match(String(portsFor(both)), /metrics-port .* 9001, /);
  });
});

test("the sidecar's volumes don't keep the cluster autoscaler from removing a node", () => {
  const name = 'cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes';
  const valueFor = (present: string | undefined, volumes: { name: string }[] = []) => {
    const annotations: Record<string, string> = present === undefined ? {} : { [name]: present };
    const spec = { volumes: [{ name: 'data', emptyDir: {} }, ...volumes] };
    const path = `/metadata/annotations/${name.replace('/', '~1')}`;
    return patchOf(inject(pod(spec, { annotations }))).find((operation) => operation.path === path)?.value;
  };
  assert.equal(valueFor(undefined), 'sync-agent-repo,sync-agent-tmp');
  assert.equal(valueFor(''), 'sync-agent-repo,sync-agent-tmp');
  assert.equal(valueFor('cache, sync-agent-tmp'), 'cache,sync-agent-tmp,sync-agent-repo');
  assert.equal(valueFor('cache', [{ name: 'sync-agent-repo' }]), 'cache,sync-agent-repo-2,sync-agent-tmp');
});

suite('the place of the sidecar among init containers is', () => {
  const initContainers = [{ name: 'chown' }, { name: 'migrate' }];
  const pathFor = (before: string | undefined, spec: Partial<AdmittedPod['spec']> = { initContainers }) => {
    const annotations: Record<string, string> = before === undefined ? {} : { 'sync.io/before': before };
    return patchOf(inject(pod(spec, { annotations }))).find(({ path }) => path.startsWith('/spec/initContainers'))
      ?.path;
  };

  test('the last one, or before the one that the annotation names, or the first', () => {
    assert.equal(pathFor(undefined), '/spec/initContainers/-');
    assert.equal(pathFor('migrate'), '/spec/initContainers/1');
    assert.equal(pathFor('chown'), '/spec/initContainers/0');
    assert.equal(pathFor('*'), '/spec/initContainers/0');
    assert.equal(pathFor('*', {}), '/spec/initContainers');
  });

  test('refused if the annotation names none of them', () => {
    const messageWith = (spec: Partial<AdmittedPod['spec']>) => {
      const refused = inject(pod(spec, { annotations: { 'sync.io/before': 'gateway' } }));
      return 'message' in refused ? refused.message : '';
    };
    assert.match(messageWith({ initContainers }), / gateway, .* chown, migrate$/);
    assert.match(messageWith({}), / sync\.io\/before .* gateway, /);
  });
});

test('a container of its own with the name of the agent is refused', () => {
  for (const env of [undefined, [{ name: 'CR_NAME', value: 'app' }], [{ name: 'DATA_PATH', value: '/data' }]]) {
    const injection = inject(pod({ containers: [gateway, { name: 'sync-agent', ...(env && { env }) }] }));
    assert.equal(injection.kind, 'denied');
    assert.match('message' in injection ? injection.message : '', / sync-agent .* CR_NAME and DATA_PATH\b/);
  }
});
