/** A place in the picture, in pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

interface TextStyle {
  size?: number;
  weight?: number;
  color?: string;
  anchor?: 'start' | 'middle' | 'end';
  /** Pixels that there are: longer text is cut off. */
  width?: number;
  /** What follows, less visible. */
  note?: string;
}

/** A pixel, in a tenth of which nobody sees a difference. */
export const round = (pixels: number): number => Number(pixels.toFixed(1));

/** Text whose base line begins, ends or has its middle at a point. */
export function text(x: number, y: number, content: string, style: TextStyle = {}): string {
  const { size = 11, weight, color = '#24292e', anchor = 'start', width, note } = style;
  // The font is unknown: most letters are narrower than this.
  const room = width === undefined ? content.length : Math.max(1, Math.floor(width / (size * 0.56)));
  const shown = content.length > room ? `${content.slice(0, Math.max(1, room - 1))}…` : content;
  const attributes = [
    `x="${round(x)}" y="${round(y)}" fill="${color}"`,
    ...(size === 11 ? [] : [`font-size="${size}"`]),
    ...(weight === undefined ? [] : [`font-weight="${weight}"`]),
    ...(anchor === 'start' ? [] : [`text-anchor="${anchor}"`]),
  ];
  const end = note === undefined ? '' : ` <tspan fill="#57606a">${escapeXml(note)}</tspan>`;
  return `<text ${attributes.join(' ')}>${escapeXml(shown)}${end}</text>`;
}

export function rectangle(box: Box, { fill, stroke, rx }: { fill: string; stroke?: string; rx?: number }): string {
  const { x, y, width, height } = box;
  const place = `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
  return `<rect ${place} fill="${fill}"${stroke ? ` stroke="${stroke}"` : ''}${rx ? ` rx="${rx}"` : ''}/>`;
}

/** Texts of the dashboards and label values, which may hold what XML takes for markup. */
export function escapeXml(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
