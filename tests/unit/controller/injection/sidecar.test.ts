import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import type { AdmittedPod } from '../../../../controller/injection/admitted-pod.ts';
import { type InjectionInput, injectSidecar } from '../../../../controller/injection/inject-sidecar.ts';
import { proxyEnvironment } from '../../../../controller/injection/injection-settings.ts';
import { projectSpec } from '../../../../controller/watch/observed-gateway-sync.ts';
import { gatewaySpecOf } from '../../../support/objects.ts';

type Variable = { name: string; value?: string };

interface Injected {
  sidecar: {
    env: Variable[];
    ports: { containerPort: number }[];
    volumeMounts: { name: string }[];
    securityContext: Record<string, unknown>;
  };
  volumes: { name: string }[];
}

const mount = { name: 'data', mountPath: '/usr/local/data' };
const gateway = { name: 'gateway', volumeMounts: [mount] };

type Given = Partial<Omit<InjectionInput, 'pod'>> & { pod?: Partial<AdmittedPod['spec']> };

/** Returns the sidecar and the volumes added to a pod that already has init containers and volumes. */
function injected(spec: object, { pod = {}, ...given }: Given): Injected {
  const observed = projectSpec(gatewaySpecOf(spec));
  const input: InjectionInput = {
    pod: {
      metadata: { name: 'gateway-0', annotations: { 'sync.io/inject': 'true' } },
      spec: { containers: [gateway], volumes: [{ name: 'data' }], initContainers: [{ name: 'own' }], ...pod },
    },
    namespace: 'plant',
    candidates: [{ name: 'app', spec: observed }],
    images: { defaultImage: 'registry.test/agent:1', allowedRepositories: [] },
    ...given,
  };
  const injection = injectSidecar(input);
  assert.equal(injection.kind, 'patched', JSON.stringify(injection));
  const added = (path: string) =>
    injection.kind === 'patched' ? injection.patch.filter((each) => each.path === path).map(({ value }) => value) : [];
  // As sent to the API server.
  return JSON.parse(JSON.stringify({ sidecar: added('/spec/initContainers/-')[0], volumes: added('/spec/volumes/-') }));
}

suite('the injected sidecar', () => {
  const plain = injected({}, { pod: { securityContext: { runAsUser: 2003, runAsGroup: 2004 } } });
  const nameOf = ({ name }: { name: string }) => name;
  /** Fields that a plain sidecar doesn't have. */
  const more = <T extends { name: string }>(all: T[], usual: { name: string }[]) =>
    all.filter(({ name }) => !usual.some((each) => each.name === name));

  test('has only default settings if the resource requests nothing special', () => {
    const { env: _, volumeMounts, ...rest } = plain.sidecar;
    assert.deepEqual(
      rest,
      parse(`
        name: sync-agent
        image: registry.test/agent:1
        restartPolicy: Always
        ports:
          - { name: sync-health, containerPort: 8082 }
          - { name: sync-metrics, containerPort: 8083 }
        startupProbe:
          httpGet: { path: '/readyz?wait', port: sync-health }
          periodSeconds: 1
          timeoutSeconds: 2
          failureThreshold: 86400
        livenessProbe:
          httpGet: { path: /healthz, port: sync-health }
          periodSeconds: 10
          timeoutSeconds: 5
          failureThreshold: 6
        resources:
          requests: { cpu: 10m, memory: 64Mi }
          limits: { memory: 256Mi }
        securityContext:
          allowPrivilegeEscalation: false
          capabilities: { drop: [ALL] }
          readOnlyRootFilesystem: true
          runAsNonRoot: true
          seccompProfile: { type: RuntimeDefault }
          runAsUser: 2003
          runAsGroup: 2004
        terminationMessagePolicy: FallbackToLogsOnError`),
    );
    assert.deepEqual(
      volumeMounts,
      parse(`
        - { name: data, mountPath: /data }
        - { name: sync-agent-repo, mountPath: /repo }
        - { name: sync-agent-tmp, mountPath: /tmp }
        - { name: sync-agent-pod, mountPath: /etc/sync-agent/pod, readOnly: true }
        - { name: sync-agent-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true }`),
    );
  });

  test('mounts no keys to trust if no signatures are required', () => {
    const git = {
      repo: 'https://git.test/app.git',
      ref: 'main',
      verify: { mode: 'none', keysSecretRef: { name: 'k' } },
    };
    assert.deepEqual(injected({ git }, {}).volumes.map(nameOf), plain.volumes.map(nameOf));
  });

  test('adds its volumes', () => {
    assert.deepEqual(
      plain.volumes,
      parse(`
        - { name: sync-agent-repo, emptyDir: {} }
        - { name: sync-agent-tmp, emptyDir: {} }
        - name: sync-agent-pod
          downwardAPI: { items: [{ path: labels, fieldRef: { fieldPath: metadata.labels } }] }
        - name: sync-agent-token
          projected:
            sources:
              - serviceAccountToken: { path: token, expirationSeconds: 3607 }
              - configMap: { name: kube-root-ca.crt, items: [{ key: ca.crt, path: ca.crt }] }
              - downwardAPI: { items: [{ path: namespace, fieldRef: { fieldPath: metadata.namespace } }] }`),
    );
  });

  test('has the settings that the resource and the installation request', () => {
    const secretRef = (name: string) => ({ secretRef: { name, key: `key-of-${name}` } });
    const { sidecar, volumes } = injected(
      {
        git: {
          repo: 'git@git.test:app.git',
          ref: 'main',
          caSecretRef: { name: 'ca', key: 'key-of-ca' },
          auth: { sshKey: { ...secretRef('ssh'), knownHosts: secretRef('hosts') } },
          verify: { mode: 'tag', keysSecretRef: { name: 'trusted' } },
        },
        gateway: {
          port: 9000,
          tls: true,
          api: { secretName: 'api', secretKey: 'key-of-api' },
          reload: {
            preset: 'none',
            requests: ['/a', '/b'].map((path) => ({
              method: 'POST',
              path,
              headersFrom: [{ name: 'X-Key', ...secretRef('headers') }],
            })),
          },
        },
        agent: { image: { pullPolicy: 'Always' } },
        sync: { profiles: { default: { mappings: [{ source: 'a', destination: 'b' }], maxFailures: 1 } } },
      },
      {
        pod: { containers: [{ ...gateway, volumeMounts: [{ ...mount, subPath: 'part' }] }] },
        gitVariables: { https_proxy: 'http://proxy:$PORT' },
        defaults: { logLevel: 'debug', caConfigMap: { name: 'company', key: 'bundle.pem' } },
      },
    );
    const { env, volumeMounts, ...rest } = sidecar as Injected['sidecar'] & Record<string, unknown>;
    assert.equal(rest.imagePullPolicy, 'Always');
    assert.deepEqual(rest.readinessProbe, {
      httpGet: { path: '/servingz', port: 'sync-health' },
      periodSeconds: 5,
      timeoutSeconds: 2,
      failureThreshold: 2,
    });
    const changed = env.filter(({ name, value }) =>
      plain.sidecar.env.some((e) => e.name === name && e.value !== value),
    );
    assert.deepEqual(changed.map(({ name, value }) => `${name}=${value}`).sort(), [
      ...['GATEWAY_PORT=9000', 'GATEWAY_TLS=true', 'LOG_LEVEL=debug'],
    ]);
    assert.deepEqual(
      more(env, plain.sidecar.env).map(({ name, value }) => `${name}=${value}`),
      [
        'GIT_SSH_KEY_FILE=/etc/sync-agent/credentials/git-ssh-key',
        'GIT_KNOWN_HOSTS_FILE=/etc/sync-agent/credentials/git-known-hosts',
        'GIT_CA_FILE=/etc/sync-agent/credentials/git-ca',
        'API_KEY_FILE=/etc/sync-agent/credentials/gateway-api-key',
        'GIT_EXTRA_CA_FILE=/etc/sync-agent/ca/ca.crt',
        'MEMORY_PATH=/run/sync-agent',
        'RELOAD_HEADERS_DIR=/etc/sync-agent/credentials/headers',
        'GIT_VERIFY_KEYS_DIR=/etc/sync-agent/verify-keys',
        'https_proxy=http://proxy:$$PORT',
      ],
    );
    assert.deepEqual(
      volumeMounts.filter((mount) => mount.name === 'data' || more([mount], plain.sidecar.volumeMounts).length > 0),
      parse(`
        - { name: data, mountPath: /data, subPath: part }
        - { name: sync-agent-credentials, mountPath: /etc/sync-agent/credentials, readOnly: true }
        - { name: sync-agent-verify-keys, mountPath: /etc/sync-agent/verify-keys, readOnly: true }
        - { name: sync-agent-memory, mountPath: /run/sync-agent }
        - { name: sync-agent-ca, mountPath: /etc/sync-agent/ca, readOnly: true }`),
    );
    assert.deepEqual(
      more(volumes, plain.volumes),
      parse(`
        - name: sync-agent-credentials
          projected:
            sources:
              - secret: { name: ssh, items: [{ key: key-of-ssh, path: git-ssh-key }] }
              - secret: { name: hosts, items: [{ key: key-of-hosts, path: git-known-hosts }] }
              - secret: { name: ca, items: [{ key: key-of-ca, path: git-ca }] }
              - secret: { name: api, items: [{ key: key-of-api, path: gateway-api-key }] }
              - secret: { name: headers, items: [{ key: key-of-headers, path: headers/headers/key-of-headers }] }
        - { name: sync-agent-verify-keys, secret: { secretName: trusted } }
        - { name: sync-agent-memory, emptyDir: { medium: Memory, sizeLimit: 2Mi } }
        - name: sync-agent-ca
          configMap: { name: company, items: [{ key: bundle.pem, path: ca.crt }], optional: true }`),
    );
    assert.deepEqual(plain.volumes.map(nameOf), volumes.map(nameOf).slice(0, plain.volumes.length));
  });

  const meshPorts = [{ containerPort: 8082 }, { containerPort: 8084 }];
  const ports: [what: string, pod: Partial<AdmittedPod['spec']>, gatewayPort: number, expected: number[]][] = [
    ['the next one, where the gateway has the first', {}, 8082, [8083, 8084]],
    ['the next one, where the gateway has the second', {}, 8083, [8082, 8084]],
    ['none of a sidecar next to it', { initContainers: [{ name: 'mesh', ports: meshPorts }] }, 8088, [8083, 8085]],
  ];
  for (const [what, pod, port, expected] of ports)
    test(`has its own ports: ${what}`, () => {
      const { sidecar } = injected({ gateway: { port } }, { pod });
      const numberIn = (name: string) => Number(sidecar.env.find((each) => each.name === name)?.value);
      assert.deepEqual([numberIn('HEALTH_PORT'), numberIn('METRICS_PORT')], expected);
      const numbers = sidecar.ports.map(({ containerPort }) => containerPort);
      assert.deepEqual(numbers, expected);
    });

  const identities: [what: string, container: object | undefined, pod: object | undefined, expected: object][] = [
    ['nobody says', undefined, undefined, {}],
    ['the pod says', undefined, { runAsUser: 1, runAsGroup: 0 }, { runAsUser: 1, runAsGroup: 0 }],
    ['both say', { runAsUser: 1 }, { runAsUser: 3, runAsGroup: 4 }, { runAsUser: 1, runAsGroup: 4 }],
    ['SELinux is in use', { seLinuxOptions: { level: 's0' } }, {}, { seLinuxOptions: { level: 's0' } }],
  ];
  for (const [what, container, whole, expected] of identities)
    test(`runs as the gateway does if ${what}`, () => {
      const containers = [{ ...gateway, ...(container && { securityContext: container }) }];
      const { sidecar } = injected({}, { pod: { containers, ...(whole && { securityContext: whole }) } });
      const { securityContext } = sidecar;
      const identity = ['runAsUser', 'runAsGroup', 'seLinuxOptions'].flatMap((key) =>
        key in securityContext ? [[key, securityContext[key]]] : [],
      );
      assert.deepEqual(Object.fromEntries(identity), expected);
    });
});

suite('the proxy of agents', () => {
  const cases: [name: string, given: Record<string, string>, expected: Record<string, string>][] = [
    ['none', { PATH: '/bin', HTTPS_PROXY: '' }, {}],
    [
      'in lower case first',
      { HTTPS_PROXY: 'http://upper:1', https_proxy: 'http://l:1' },
      { https_proxy: 'http://l:1' },
    ],
    [
      'with exceptions',
      { HTTP_PROXY: 'http://p:80', NO_PROXY: '.svc' },
      { http_proxy: 'http://p:80', no_proxy: '.svc' },
    ],
    [
      'with the port that Node takes: curl takes 1080',
      { HTTPS_PROXY: 'https://p.test/' },
      { https_proxy: 'https://p.test:443' },
    ],
    ['with the other port', { HTTP_PROXY: 'http://p.test' }, { http_proxy: 'http://p.test:80' }],
    ['with a password', { HTTPS_PROXY: 'http://me:secret@proxy:3128', HTTP_PROXY: 'http://p:80' }, {}],
  ];
  for (const [name, given, expected] of cases) {
    test(`is ${name}`, () => assert.deepEqual(proxyEnvironment(given), expected));
  }
});
