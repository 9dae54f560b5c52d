/** A response with its own status, groups and headers. Made by a controller's `json()`. */
export class JsonReply {
  readonly value: unknown;
  readonly status: number;
  readonly groups: readonly string[] | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    value: unknown,
    {
      status = 200,
      groups = null,
      headers = {},
    }: { status?: number; groups?: readonly string[] | null; headers?: Record<string, string> } = {},
  ) {
    this.value = value;
    this.status = status;
    this.groups = groups;
    this.headers = headers;
  }
}
