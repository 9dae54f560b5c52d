/**
 * The strongly connected components of a graph: nodes get the same number if and only if each can be reached from the other.
 * `successors` is called once for each node that can be reached from `roots`.
 */
export function componentsOf(roots: Iterable<number>, successors: (node: number) => readonly number[]): Map<number, number> {
  const component = new Map<number, number>();
  const order = new Map<number, number>();
  const lowest = new Map<number, number>();
  const open: number[] = [];
  let components = 0;

  const enter = (node: number) => {
    order.set(node, order.size);
    lowest.set(node, order.get(node) as number);
    open.push(node);
    return { node, next: successors(node), at: 0 };
  };
  const lower = (node: number, value: number) => lowest.set(node, Math.min(lowest.get(node) as number, value));

  for (const root of roots) {
    if (order.has(root)) continue;
    // An explicit stack, because a path through the graph can be longer than the call stack.
    const stack = [enter(root)];
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      const { node } = frame;
      const next = frame.next[frame.at++];
      if (next !== undefined) {
        if (!order.has(next)) stack.push(enter(next));
        else if (!component.has(next)) lower(node, order.get(next) as number);
        continue;
      }
      stack.pop();
      const parent = stack.at(-1);
      if (parent) lower(parent.node, lowest.get(node) as number);
      if (lowest.get(node) !== order.get(node)) continue;
      for (let member = open.pop(); member !== undefined; member = open.pop()) {
        component.set(member, components);
        if (member === node) break;
      }
      components++;
    }
  }
  return component;
}
