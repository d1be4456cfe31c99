import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { projectsIn, projectsOfChanges, UNNAMED } from '../../../../agent/gateway/presets/ignition-projects.ts';

suite('the projects of a volume', () => {
  for (const [where, paths, expected] of [
    [
      'with the data directory of a gateway',
      ['projects/a/project.json', 'projects/b/x', 'c/project.json'],
      ['projects/a'],
    ],
    ['with that of a gateway in a directory', ['gw/projects/a/project.json'], ['gw/projects/a']],
    ['that is the directory of the projects', ['a/project.json', 'b/project.json', 'b/c/project.json'], ['a', 'b']],
    ['that is a project', ['project.json'], [UNNAMED]],
    [
      'with resources that have a file of this name',
      ['projects/a/project.json', 'projects/a/v/project.json'],
      ['projects/a'],
    ],
    [
      'with another directory of this name',
      ['projects/a/project.json', 'config/x/projects/y/project.json'],
      ['projects/a'],
    ],
  ] as const)
    test(where, () => {
      assert.deepEqual(projectsIn(paths), expected);
    });
});

suite('a change is one of the project', () => {
  const plant = 'projects/plant/project.json';
  for (const [what, delivered, changed, expected] of [
    ['whose file it changes', [plant], ['projects/plant/a/b'], ['plant']],
    ['that it adds', [], [plant], ['plant']],
    ['that is only on the gateway', [], ['projects/plant/a/b'], ['plant']],
    ['that is a link', ['versions/1/project.json'], ['projects/plant'], ['plant']],
    ['below a directory that it replaces', [plant, 'projects/b/project.json'], ['projects'], ['plant', 'b']],
    ['in a volume that is the directory of the projects', ['plant/project.json'], ['plant/a'], ['plant']],
    ['below two directories of the name', [], ['projects/data/projects/plant/a'], ['data', 'plant']],
    ['without a name', ['project.json'], ['views/a'], [UNNAMED]],
    ['no project, for configuration', [plant], ['config/resources/external/a'], []],
  ] as const)
    test(what, () => {
      assert.deepEqual([...projectsOfChanges({ delivered, changed })], expected);
    });
});
