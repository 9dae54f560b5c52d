-- Sends the requests of a file in turn, from a random one on. A line: method, path, token and body, separated by tabs.
local requests, total, position = {}, 0, 0

init = function()
  for line in io.lines(os.getenv("REQUESTS")) do
    local method, path, token, body = line:match("^([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$")
    local headers = {}
    if token ~= "" then headers["Authorization"] = "Bearer " .. token end
    if body ~= "" then headers["Content-Type"] = "application/json" end
    total = total + 1
    requests[total] = wrk.format(method, path, headers, body ~= "" and body or nil)
  end
  position = tonumber(os.getenv("OFFSET") or "0") % total
end

request = function()
  position = position % total + 1
  return requests[position]
end

done = function(summary, latency)
  local broken = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  io.write(string.format('\nRESULT {"requests":%d,"seconds":%.3f,"refused":%d,"broken":%d,"p50":%.3f,"p99":%.3f}\n',
    summary.requests, summary.duration / 1e6, summary.errors.status, broken,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
