import address from '@mermaid-js/tiny/dist/mermaid.tiny.js?url';

interface Mermaid {
  initialize(options: object): void;
  render(id: string, code: string): Promise<{ svg: string }>;
}

let loading: Promise<Mermaid> | undefined;

/** Loads Mermaid, once, on the first page that has a diagram. */
export function loadMermaid(): Promise<Mermaid> {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = address;
    script.onload = () => resolve((window as unknown as { mermaid: Mermaid }).mermaid);
    script.onerror = () => reject(new Error(`could not load ${address}`));
    document.head.append(script);
  });
  return loading;
}
