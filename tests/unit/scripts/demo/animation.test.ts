import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawAnimation } from '../../../../scripts/demo/rollout/animation.ts';
import type { Frame } from '../../../../scripts/demo/rollout/picture.ts';

const frame = (atMs: number, phase: Frame['picture']['phase'], look: 'old' | 'onItsWay' | 'new'): Frame => ({
  atMs,
  picture: {
    number: 1,
    phase,
    commit: 'a'.repeat(40),
    summary: `${phase} <1/1>`,
    inProgress: 0,
    waves: [
      { name: 'canary', mark: 'underWay', gateways: [{ name: 'plant-1', look }] },
      { name: 'rest', mark: 'waiting', gateways: [{ name: 'plant-2', look: 'old' }] },
    ],
  },
});
const frames = [frame(0, 'Progressing', 'onItsWay'), frame(300, 'Soaking', 'new'), frame(2_300, 'Complete', 'new')];
const svg = drawAnimation(
  [{ commit: 'a'.repeat(40), message: 'Fix a & b', plan: 'would change 2', frames }],
  'the end',
);
const texts = [...svg.matchAll(/<text( class="last")? y="(\d+)" style="animation-name:(l\d+)">(.*)<\/text>/g)];

test('an animation shows the last state of each line if motion is reduced', () => {
  const last = texts.filter(([, isLast]) => isLast);
  assert.equal(new Set(last.map(([, , y]) => y)).size, last.length, 'one text per line');
  assert.deepEqual(
    last.map(([, , , , text = '']) => text.replaceAll(/<[^>]+>|\s/g, '')).sort(),
    [
      '$gitpushaaaaaaaaFixa&amp;b',
      '$kubectlstokerplanwouldchange2',
      '2.3sComplete&lt;1/1&gt;',
      'rest░░░░░░plant-2',
      '▶canary██████plant-1',
      'theend',
    ].sort(),
  );
});

test('a line that does not change has one text, and a soak is shown in steps', () => {
  const atLine = (name: string) => texts.filter(([, , , , text = '']) => text.includes(name)).length;
  assert.equal(atLine('plant-2'), 1);
  assert.ok(atLine('plant-1') > 4);
});

test('each text becomes visible, and earlier ones of a line are hidden when the next one appears', () => {
  for (const [, isLast, , name] of texts) {
    const [, rule = ''] = new RegExp(`@keyframes ${name}\\{(.*)\\}$`, 'm').exec(svg) ?? [];
    assert.match(rule, /%\{visibility:visible\}/);
    assert.equal(/visible\}[\d.]+%\{visibility:hidden\}/.test(rule), !isLast);
  }
});
