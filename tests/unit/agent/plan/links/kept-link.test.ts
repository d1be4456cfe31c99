import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { keptLinkProblem } from '../../../../../agent/plan/links/kept-link.ts';
import { linkText } from '../../../../../agent/plan/links/link-text.ts';

const problemOf = (path: string, text: string | Buffer | undefined, within = '') =>
  keptLinkProblem({
    path,
    text: linkText(text === undefined ? undefined : Buffer.from(text)),
    within,
    prefixes: ['/usr/share/nginx', '/opt/a'],
  });

suite('a link that is kept', () => {
  const accepted: [path: string, text: string, within?: string][] = [
    ['a', 'b'],
    ['a', '.'],
    ['a/b', '..'],
    ['a/b/c', '../../x/y'],
    ['a/b/c', './/.././x//'],
    ['a', '..x/y'],
    ['a', '/usr/share/nginx'],
    ['a', '/usr/share/nginx/modules/x.conf'],
    ['a', '//usr/./share//nginx/'],
    ['site/a/b', '../c', 'site'],
    ['site/a', '/opt/a/c', 'site'],
  ];
  for (const [path, text, within] of accepted) {
    test(`at ${path} can be ${text}`, () => assert.equal(problemOf(path, text, within), undefined));
  }

  const refused: [path: string, text: string | Buffer, within?: string][] = [
    ['a', '..'],
    ['a', '../data'],
    ['a/b', '../..'],
    ['a/b/c', '../../../etc/passwd'],
    ['a', 'b/../../etc'],
    ['a', 'b/..'],
    ['a', '/etc/passwd'],
    ['a', '/'],
    ['a', '/usr/share/nginx-other'],
    ['a', '/usr/share/nginx/../../../etc'],
    ['a', '/../usr/share/nginx'],
    ['a', '.sync-agent/manifest.jsonl'],
    ['a/b', '../.SYNC-AGENT'],
    ['a', ''],
    ['a', 'b\0c'],
    ['a', Buffer.from([0x62, 0xff])],
    ['site/a', '../other', 'site'],
    ['site/a/b', '../../other', 'site'],
  ];
  test('has at most 4,095 bytes', () => assert.equal(typeof problemOf('a', undefined), 'string'));

  for (const [path, text, within] of refused) {
    test(`at ${path} can't be ${JSON.stringify(text.toString()).slice(0, 40)}${within ? ` within ${within}` : ''}`, () => {
      assert.equal(typeof problemOf(path, text, within), 'string');
    });
  }
});
