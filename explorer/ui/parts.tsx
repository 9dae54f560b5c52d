import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { View } from '../model/location.ts';
import { useApp, useHref } from './context.ts';

interface LinkProps {
  readonly to: View;
  readonly class?: string;
  readonly state?: object | null;
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

/** A link to a view: an ordinary one for the keyboard, new tabs and copying. */
export function Link({ to, class: className, state, current, children }: LinkProps) {
  const { go } = useApp();
  const href = useHref()(to);
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to, { state: state ?? null });
  };
  return (
    <a href={href} class={className} onClick={follow} aria-current={current ? 'page' : undefined}>
      {children}
    </a>
  );
}

/** The heading of a view. It gets the focus when the view opens, so that screen readers say where they are. */
export function Heading({ children, focusKey }: { readonly children: ComponentChildren; readonly focusKey: string }) {
  const { hasMoved } = useApp();
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!hasMoved) return;
    if (document.activeElement === document.body || document.activeElement === null) ref.current?.focus({ preventScroll: true });
  }, [focusKey]);
  return (
    <h1 ref={ref} tabIndex={-1}>
      {children}
    </h1>
  );
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}

/** A modal dialog. The browser keeps the focus inside, closes it with Escape and gives the focus back. */
export function Dialog({ title, onClose, children, wide }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement as HTMLElement | null;
    if (dialog && !dialog.open) dialog.showModal();
    dialog?.querySelector<HTMLElement>('input[type=search]')?.focus();
    return () => {
      if (dialog?.open) dialog.close();
      before?.focus?.();
    };
  }, []);
  return (
    <dialog ref={ref} class={wide ? 'wide' : undefined} aria-label={title} onClose={onClose}>
      <header class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="quiet icon" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface ChecksProps {
  readonly label: string;
  readonly options: readonly {
    readonly value: string;
    readonly label: string;
    readonly isChecked: boolean;
    readonly isFixed?: boolean;
  }[];
  readonly onToggle: (value: string) => void;
}

/** A menu of check boxes. */
export function Checks({ label, options, onToggle }: ChecksProps) {
  return (
    <Popover label={label}>
      <fieldset class="checks">
        <legend class="hidden">{label}</legend>
        {options.map(({ value, label: text, isChecked, isFixed = false }) => (
          <label key={value} class="check">
            <input type="checkbox" checked={isChecked} disabled={isFixed} onChange={() => onToggle(value)} />
            {text}
          </label>
        ))}
      </fieldset>
    </Popover>
  );
}

/** A menu that opens below its button and closes with Escape or a click outside. */
function Popover({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  const ref = useRef<HTMLDetailsElement>(null);
  useClosing(ref);
  return (
    <details class="popover" ref={ref}>
      <summary class="button">{label}</summary>
      <div class="popover-body">{children}</div>
    </details>
  );
}

function useClosing(ref: RefObject<HTMLDetailsElement | null>): void {
  useEffect(() => {
    const close = (event: Event) => {
      const details = ref.current;
      if (!details?.open) return;
      const isEscape = event instanceof KeyboardEvent && event.key === 'Escape';
      const isOutside = event.type === 'pointerdown' && !details.contains(event.target as Node);
      if (!isEscape && !isOutside) return;
      details.open = false;
      if (isEscape) details.querySelector('summary')?.focus();
    };
    document.addEventListener('keydown', close);
    document.addEventListener('pointerdown', close);
    return () => {
      document.removeEventListener('keydown', close);
      document.removeEventListener('pointerdown', close);
    };
  }, []);
}

export function CopyButton({ text }: { readonly text: string }) {
  const { announce } = useApp();
  const [isCopied, setCopied] = useState(false);
  useEffect(() => setCopied(false), [text]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      announce('Copied');
    } catch {
      announce('The browser did not allow copying: select the text instead.');
    }
  };
  return (
    <button type="button" class="small" onClick={copy}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}

interface ScrollProps {
  readonly label: string;
  readonly class?: string;
  readonly busy?: boolean;
  readonly children: ComponentChildren;
}

/** A region that scrolls by itself, also by keyboard. */
export function Scroll({ label, class: className, busy = false, children }: ScrollProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class={className} aria-label={label} aria-busy={busy} tabIndex={0}>
      {children}
    </section>
  );
}

export function Spinner({ text = 'Loading…' }: { readonly text?: string }) {
  return (
    <p class="loading" role="status">
      {text}
    </p>
  );
}
