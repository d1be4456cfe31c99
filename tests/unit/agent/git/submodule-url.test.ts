import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { submoduleUrl } from '../../../../agent/git/submodule-url.ts';
import { assertLinear } from '../../../support/assert-linear.ts';

const urlOf = (given: string, parent: string, root = parent) => {
  const result = submoduleUrl(given, { parent, root });
  return result.kind === 'url' ? `${result.isTrusted ? 'trusted' : 'foreign'} ${result.url}` : result.message;
};

suite('the URL of a submodule', () => {
  const cases: [given: string, parent: string, expected: string][] = [
    ['../b.git', 'https://git.test/org/a.git', 'trusted https://git.test/org/b.git'],
    ['../../other/b', 'https://git.test:8443/org/a.git/', 'trusted https://git.test:8443/other/b'],
    ['./b', 'https://git.test/org/a', 'trusted https://git.test/org/a/b'],
    ['../b.git', 'git@git.test:org/a.git', 'trusted git@git.test:org/b.git'],
    ['../b.git', 'git@git.test:a.git', 'trusted git@git.test:b.git'],
    ['../b.git', 'ssh://git@git.test:2222/org/a.git', 'trusted ssh://git@git.test:2222/org/b.git'],
    ['https://GIT.test/x/y', 'https://git.test/a', 'trusted https://GIT.test/x/y'],
    ['ssh://git@GIT.test:22/b', 'git@git.test:a', 'trusted ssh://git@GIT.test:22/b'],
    ['git@GIT.test:b', 'ssh://git.test/a', 'trusted git@GIT.test:b'],
    ['https://git.test:444/b', 'https://git.test/a', 'foreign https://git.test:444/b'],
    ['http://git.test/b', 'https://git.test/a', 'foreign http://git.test/b'],
    ['https://other.test/b', 'https://git.test/a', 'foreign https://other.test/b'],
    ['git://other.test/b', 'git@git.test:a', 'foreign git://other.test/b'],
    ['https://me@git.test/b/', 'https://git.test/a', 'trusted https://git.test/b'],
    ['https://me@git.test/b', 'https://you@git.test/a', 'trusted https://you@git.test/b'],
    ['../b.git', 'https://you@git.test/org/a.git//', 'trusted https://you@git.test/org/b.git'],
    ['https://xn--grte-loa.test/Fähre', 'https://git.test/a', 'foreign https://xn--grte-loa.test/Fähre'],
  ];
  for (const [given, parent, expected] of cases) {
    test(`${JSON.stringify(given)} in ${parent}`, () => {
      assert.equal(urlOf(given, parent), expected);
    });
  }

  const refused: [given: string, parent: string, message: RegExp][] = [
    ['../../../b', 'https://git.test/org/a.git', /outside the git server/],
    ['../..', 'https://git.test/org/a.git', /outside the git server/],
    ['ssh://git@git.test:2222/b', 'git@git.test:a', /on another SSH server/],
    ['git@other.test:b', 'git@git.test:a', /on another SSH server/],
    ['https://user:secret@git.test/b', 'https://git.test/a', /contains credentials/],
    ['ext::sh -c id', 'https://git.test/a', /isn't allowed/],
    ['--upload-pack=id', 'https://git.test/a', /isn't allowed/],
    ['-x@git.test:b', 'git@git.test:a', /isn't allowed/],
    ['ssh://-oProxyCommand=id/b', 'git@git.test:a', /isn't allowed/],
    ['git@-oProxyCommand=id:b', 'git@git.test:a', /isn't allowed/],
    ['https://gräte.test/b', 'https://git.test/a', /is ambiguous/],
    ['https://git.test/b\nc', 'https://git.test/a', /isn't allowed/],
    ['', 'https://git.test/a', /isn't allowed/],
  ];
  for (const [given, parent, message] of refused) {
    test(`${JSON.stringify(given)} in ${parent} is refused`, () => {
      assert.match(urlOf(given, parent), message);
    });
  }

  test('is relative to its parent, and trusted if it is on the server of the root', () => {
    const places = { parent: 'https://other.test/x/a.git', root: 'https://git.test/r.git' };
    assert.deepEqual(submoduleUrl('../b.git', places), {
      kind: 'url',
      url: 'https://other.test/x/b.git',
      isTrusted: false,
    });
  });

  for (const [start, unit] of [
    ['ssh://', ':'],
    ['ssh://', '@'],
    ['https://', '@:'],
    ['', 'a:'],
    ['', '/'],
    ['../', '../'],
  ] as const) {
    test(`is parsed in time proportional to its length: ${start}${unit}…`, () => {
      const places = { parent: 'https://git.test/a', root: 'https://git.test/a' };
      assertLinear(
        10_000,
        (size) => `${start}${unit.repeat(size)}`,
        (given) => submoduleUrl(given, places),
      );
    });
  }
});
