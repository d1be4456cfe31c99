import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  looksLikeFile,
  type MountingPod,
  mountedParts,
} from '../../../../../shared/domain/kubernetes/mounted-parts.ts';

type Mount = { subPath?: string; subPathExpr?: string; name?: string };

const container = (name: string, ...mounts: Mount[]) => ({
  name,
  volumeMounts: mounts.map((mount) => ({ name: 'data', ...mount })),
});

suite('the parts of the data volume that are mounted separately', () => {
  const cases: [what: string, pod: MountingPod, root: string | undefined, paths: string[]][] = [
    ['a file', { containers: [container('a', {}, { subPath: 'conf/app.json' })] }, undefined, ['a: conf/app.json']],
    ['a directory', { containers: [container('a', { subPath: './www//' })] }, undefined, ['a: www']],
    ['the whole volume', { containers: [container('a', {}, { subPath: '' }, { subPath: '.' })] }, undefined, []],
    ['another volume', { containers: [container('a', {}, { name: 'x', subPath: 'app.json' })] }, undefined, []],
    ['what the sidecar has', { containers: [container('a', { subPath: 'plant/' })] }, 'plant', []],
    ['a part of that', { containers: [container('a', { subPath: 'plant/x/y' })] }, '/plant', ['a: x/y']],
    ['what is next to it', { containers: [container('a', { subPath: 'plant-b/x' })] }, 'plant', []],
    ['what is above it', { containers: [container('a', { subPath: 'plant' })] }, 'plant/a', []],
    ['a path with variables', { containers: [container('a', { subPathExpr: '$(NAME)/x' })] }, 'b', ['a: $(NAME)/x']],
    ['one below it', { containers: [container('a', { subPathExpr: './www/site/$(POD)' })] }, 'www', ['a: site/$(POD)']],
    ['one that leads elsewhere', { containers: [container('a', { subPathExpr: 'logs/$(NAME)' })] }, 'conf', []],
    [
      'in a sidecar, and not in an init container that ends before the agent starts',
      {
        containers: [],
        initContainers: [
          container('ends', { subPath: 'x' }),
          { ...container('stays', { subPath: 'x' }), restartPolicy: 'Always' },
        ],
      },
      undefined,
      ['stays: x'],
    ],
    ['nothing at all', { containers: [{ name: 'a' }] }, undefined, []],
  ];
  for (const [what, pod, subPath, paths] of cases)
    test(what, () => {
      const found = mountedParts(pod, { name: 'data', subPath });
      assert.deepEqual(
        found.map(({ container: name, path }) => `${name}: ${path}`),
        paths,
      );
    });
});

test('a mount counts as one of a file if both of its paths have a file extension', () => {
  const looks = (subPath: string, mountPath: string) => looksLikeFile({ name: 'data', subPath, mountPath });
  for (const subPath of ['app.json', 'conf/site.XML', 'a/b.c/nginx.conf']) assert.ok(looks(subPath, '/etc/x.conf'));
  for (const [subPath, mountPath] of [
    ['conf.d', '/etc/conf.d'],
    ['v1.2', '/srv/v1.2'],
    ['.hidden', '/srv/.hidden'],
    ['app.json', '/srv/data'],
    ['', '/etc/app.json'],
  ] as const)
    assert.ok(!looks(subPath, mountPath), subPath);
});
