return 'hello'
----
return _G
----
local a = {} setmetatable(a, {__index = function() foo() end}) return a
----
return 100.5
----
return {1, 2, 3, 'ciao', {1, 2}}
----
return {ARGV[1], ARGV[2], ARGV[3], #ARGV, #KEYS}
----
return true
----
return false
----
return {true, false, 1}
----
return {ok = 'fine'}
----
return {err = 'ERR this is an error'}
----
return {err = 'a\0b'}
----
return {ok = 'a\0b'}
----
return {err = 'a\nb\r\n'}
----
return {ok = 'a\r\nb'}
----
return {err = ''}
----
return {double = 1.5}
----
return {double = 1/0}
----
return {big_number = '123\r\n123'}
----
return {verbatim_string = {format = 'txt', string = 'hello'}}
----
return {map = {a = 1}}
----
return {set = {a = true}}
----
return {1, nil, 3}
----
return {1, {err = 'x'}, {ok = 'y'}}
----
return 1e300
----
return -1.9
----
return 0/0
----
return os.clock()
----
return io
----
error('x')
----
error('x', 2)
----
error('x', 0)
----
error()
----
error(true)
----
error({err = 'MY x'})
----
error({err = 5})
----
local x = nil x.y = 1
----
local function f() error('deep') end
f()
----
return redis.call('nosuchcommand')
----
redis.call('nosuchcommand')
----
return redis.pcall('nosuchcommand')
----
return redis.call()
----
return redis.pcall()
----
return redis.call('ping')
----
return redis.call('echo', 12.5)
----
return redis.call('echo', 9007199254740991)
----
return redis.call('echo', 0.1)
----
return redis.call('echo', {})
----
return redis.pcall('echo', {})
----
return {redis.call('ping').ok, redis.pcall('nosuchcommand').err}
----
redis.log(1)
----
redis.log('x', 'y')
----
redis.log(17, 'y')
----
redis.sha1hex()
----
return redis.sha1hex('Pizza & Mandolino')
----
return redis.sha1hex('')
----
return redis.sha1hex(12)
----
return redis.error_reply()
----
return redis.error_reply('')
----
return redis.error_reply('-MY foo\r\n')
----
return redis.error_reply('MY foo')
----
return redis.error_reply('foo')
----
return redis.error_reply('-foo')
----
return redis.error_reply(1)
----
return redis.status_reply('fine')
----
return redis.status_reply()
----
return redis.status_reply(1, 2)
----
return redis.setresp()
----
return redis.setresp(4)
----
redis.setresp(3) return {true, false}
----
redis.setresp(3) return redis.call('ping')
----
return redis.set_repl()
----
return redis.set_repl(12345)
----
return redis.set_repl(redis.REPL_ALL)
----
return redis.replicate_commands()
----
return redis.breakpoint()
----
return redis.debug('x')
----
return redis.acl_check_cmd('nosuchcommand')
----
return redis.acl_check_cmd()
----
return redis.acl_check_cmd('ping')
----
return redis.register_function
----
return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM, redis.LOG_NOTICE, redis.REPL_SLAVE}
----
x = 1
----
return x
----
return _G.x
----
return redis.foo
----
_G = {}
----
redis = function() return 1 end
----
redis.call = function() return 1 end
----
cjson.encode = 1
----
bit.lshift = 1
----
setmetatable(_G, {})
----
local g = getmetatable(_G)
g.__index = {}
----
return setmetatable(string, nil)
----
return rawset(_G, 'a', 1)
----
table.insert(redis, 1)
----
return getmetatable(redis)
----
local names = {} for name in pairs(getmetatable(_G)) do names[#names + 1] = name end return names
----
local names = {} for name in pairs(redis) do names[#names + 1] = name end
table.sort(names) return table.concat(names, ' ')
----
local names = {} for name in pairs(cjson) do names[#names + 1] = name end
table.sort(names) return table.concat(names, ' ')
----
local names = {} for name in pairs(cmsgpack) do names[#names + 1] = name end
table.sort(names) return table.concat(names, ' ')
----
local names = {} for name in pairs(string) do names[#names + 1] = name end
table.sort(names) return table.concat(names, ' ')
----
local names = {} for name in pairs(math) do names[#names + 1] = name end
table.sort(names) return table.concat(names, ' ')
----
local names = {} for name in pairs(table) do names[#names + 1] = name end
table.sort(names) return table.concat(names, ' ')
----
local names = {} for name in pairs(coroutine) do names[#names + 1] = name end
table.sort(names) return table.concat(names, ' ')
----
local names = {} for name in pairs(_G) do if name ~= '__redis__err__handler' then names[#names + 1] = name end end
table.sort(names) return table.concat(names, ' ')
----
return {next({}), next({5}), rawget(redis, 'REPL_ALL'), rawget({7}, 1)}
----
print('x')
----
loadfile('x')
----
return loadstring('return 7')()
----
return {loadstring('return')}
----
return {tostring(loadstring('x y')), select(2, loadstring('x y'))}
----
return select(2, loadstring('\27Lua'))
----
return select(2, loadstring('x y', '@name'))
----
return select(2, load(function() return nil end, 5)) or 'none'
----
local parts = {'return ', '1', '+1'} local at = 0
return load(function() at = at + 1 return parts[at] end)()
----
return {pcall(error, {err = 'x'})}
----
return {pcall(error, 'x')}
----
return {pcall(function() return 1, 2 end)}
----
return {pcall(redis.call, 'nosuchcommand')}
----
local ok, e = pcall(function() return foo end) return e
----
return {xpcall(function() redis.call('nosuchcommand') end, function(e) return e end)}
----
local ok, e = coroutine.resume(coroutine.create(function() redis.call('nosuchcommand') end)) return e
----
string.gsub('x', 'x', error)
----
return string.rep('x', -1)
----
return {string.rep('ab', 3), ('x'):rep(2), ('abc'):find('b'), ('abc'):match('(.)c'), (('abc'):gsub('b', '%%'))}
----
return unpack({1, 2, 3})
----
return {unpack({1, 2, 3}, 2)}
----
return {unpack({1, 2, 3}, 2, 2)}
----
return {unpack({}, 0, 1) == nil}
----
return unpack({}, 0, 2147483647)
----
return unpack()
----
bad syntax here
----
return 'unfinished
----
math.randomseed(10) return {tostring(math.random()), math.random(100), math.random(5, 7)}
----
math.randomseed(ARGV[3]) return tostring(math.random())
----
return math.random(0)
----
return math.random(2, 1)
----
return math.random(1, 2, 3)
----
return table.concat(cjson.decode('[0.0, -5e3, -1, 0.3e-3, 1023.2, 0e10]'), ' ')
----
return cjson.encode({[1] = 1, [100] = 2})
----
return cjson.encode({a = {}, b = {1, nil, 3}})
----
local t = {} t[1] = t return cjson.encode(t)
----
return cjson.encode()
----
return cjson.encode(1, 2)
----
return cjson.encode(print)
----
return cjson.encode({[true] = 1})
----
return cjson.encode(function() end)
----
return cjson.encode('a/b"\\\1\127\200\n')
----
return cjson.decode('[1,')
----
return cjson.decode('{"a" 1}')
----
return cjson.decode('{"a":1 "b"}')
----
return cjson.decode('{1:2}')
----
return cjson.decode('"abc')
----
return cjson.decode('"\\x"')
----
return cjson.decode('"\\ud800x"')
----
return cjson.decode('"\\ud83d\\ude00"')
----
return cjson.decode('1 2')
----
return cjson.decode('')
----
return cjson.decode('a\0')
----
return cjson.decode('[1]\0garbage')
----
return cjson.decode(nil)
----
return cjson.decode({})
----
return cjson.decode('null') == cjson.null
----
return tostring(cjson.decode('[null]')[1])
----
return {cjson.encode_sparse_array()}
----
return {cjson.encode_max_depth(), cjson.decode_max_depth(), cjson.encode_number_precision()}
----
return cjson.encode_number_precision(15)
----
return cjson.encode_max_depth(1, 2)
----
return cjson.encode_max_depth('x')
----
return cjson.encode_keep_buffer('maybe')
----
return cjson.encode_invalid_numbers('null')
----
return cjson.encode({0/0, 1/0})
----
return cjson.encode_invalid_numbers(true)
----
return cjson.encode({0/0, 1/0, -1/0})
----
return cjson.encode_invalid_numbers(false)
----
local c = cjson.new() c.encode_number_precision(3) return {c.encode(1/3), cjson.encode(1/3)}
----
return cmsgpack.pack()
----
return cmsgpack.pack(nil)
----
return cmsgpack.pack({1, 2, 3}, 'x', 1.5, 0.1, -1, {a = 1})
----
return cmsgpack.unpack('\193')
----
return {cmsgpack.unpack('\147\1\2\3')}
----
return {cmsgpack.unpack_one('\1\2\3')}
----
return {cmsgpack.unpack_one('\1\2\3', 1)}
----
return {cmsgpack.unpack_limit('\1\2\3', 2)}
----
return {cmsgpack.unpack_limit('\1\2\3', 0)}
----
return {cmsgpack.unpack_limit('\1\2\3', 2, 7)}
----
return {cmsgpack.unpack_limit('\1\2\3', -2)}
----
return cmsgpack.unpack('\129\192\1')
----
return cmsgpack.unpack()
----
local a = {x = nil, y = 5} local b = {x = a} a['x'] = b return cmsgpack.pack(a)
----
return struct.pack('i')
----
return struct.pack('q', 1)
----
return struct.pack('i40', 1)
----
return struct.pack('!3i', 1)
----
return {struct.unpack('cc0', '3abcd')}
----
return struct.pack('c5', 'abc')
----
return struct.pack('>!4 b I3 s c0 x d f', 1, 70000, 'ab', 'cd', 1.5, 2.5)
----
return {struct.unpack('>I2 s c2', '\1\2abc\0xyz')}
----
return {struct.unpack('<I1 c0', '\3abcdef')}
----
return {struct.unpack('i', 'ab')}
----
return {struct.unpack('i', 'abcd', 0)}
----
return {struct.unpack('i', 'abcd', -1)}
----
return struct.size('!8 b d')
----
return struct.size('s')
----
return bit.band()
----
return bit.band('x')
----
return bit.tohex(-1, -4)
----
return ('x'):bad()
----
return #redis
----
return tostring(nil) .. tostring(1.5) .. tostring(true)
----
return {tonumber('0x10'), tonumber('abc'), tonumber('10', 2), type(redis), type(redis.call)}
----
return {collectgarbage('count') > 0, collectgarbage(), gcinfo() > 0}
----
local t = {} for i = 1, 7999 do t[i] = i end return select('#', unpack(t))
----
return _VERSION
----
return ipairs(redis) == ipairs({})
----
for k, v in pairs(nil) do end
----
next(1)
----
return table.concat({1, 2, {}})
----
table.insert(1, 2)
----
table.insert({}, 1, 2, 3)
