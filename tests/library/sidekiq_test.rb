# Sidekiq with a real process of its own: jobs, schedules, retries, the dead, statistics.
require "tmpdir"
ENV["KEYWARD_TEST_NOTES"] = File.join(Dir.mktmpdir, "notes")
File.write(ENV["KEYWARD_TEST_NOTES"], "")

require "minitest/autorun"
require "sidekiq/api"
require "sidekiq/deploy"
require "sidekiq/metrics/query"
require_relative "sidekiq_app"

PATIENCE_S = 40

# A Sidekiq process.
class Worker
  COMMAND = ["sidekiq", "--require", File.join(__dir__, "sidekiq_app.rb"), "--concurrency", "2",
    "--queue", "default", "--queue", "mail", "--timeout", "3"].freeze

  def initialize
    bin = $LOAD_PATH.map { |path| File.join(File.dirname(path), "bin", "sidekiq") }.find { |file| File.exist?(file) }
    @id = spawn(RbConfig.ruby, bin, *COMMAND.drop(1), out: File::NULL, err: File::NULL)
  end

  def stop
    Process.kill("TERM", @id)
    join
  end

  def join = Process.wait(@id)
end

class SidekiqTest < Minitest::Test
  # The tests share one process, and the last of them ends it: they run in their order.
  def self.test_order = :alpha

  def self.worker = @worker ||= Worker.new

  def self.replace_worker = @worker = Worker.new

  def setup = self.class.worker

  def eventually(complaint = "it never comes true")
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + PATIENCE_S
    until yield
      flunk(complaint) if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      sleep 0.05
    end
  end

  def noted?(text) = File.read(NOTES).include?("#{text}\n")

  def test_a_the_library_names_this_version
    text = File.read(File.join(__dir__, "../../library/sidekiq.toml"))
    assert_includes text, "Sidekiq #{Sidekiq::VERSION}"
  end

  def test_b_jobs_at_once_and_later
    Add.perform_async(1, 2)
    Add.perform_in(1, 3, 4)
    Add.perform_at(Time.now + 1, 5, 6)
    Add.perform_bulk([[10, 1], [20, 2], [30, 3]])
    Add.set(queue: "mail").perform_async(7, 8)
    Billing::Invoice.perform_async(42)
    Billing::Old::Invoice.perform_async(41)
    Sidekiq::Client.push("class" => "Add", "args" => [100, 1], "tags" => ["x"], "custom" => {"a" => nil})
    ["added 3", "added 7", "added 11", "added 11", "added 33", "added 15", "invoice 42", "old invoice 41", "added 101"].each do |text|
      eventually(text) { noted?(text) }
    end
  end

  def test_c_failures_are_tried_again_and_die
    Flaky.perform_async("one")
    Hopeless.perform_async
    eventually { File.read(NOTES).scan("flaky one\n").size == 2 }
    eventually { Sidekiq::DeadSet.new.size == 1 }
    dead = Sidekiq::DeadSet.new.first
    assert_equal "on purpose", dead["error_message"]
    dead.retry
    eventually { Sidekiq::DeadSet.new.size == 1 }
    Sidekiq::DeadSet.new.clear
  end

  def test_d_the_sets_by_hand
    Later.perform_async
    eventually { Sidekiq::RetrySet.new.size == 1 }
    job = Sidekiq::RetrySet.new.first
    job.reschedule(Time.now + 7200)
    assert_equal 1, Sidekiq::RetrySet.new.scan("Later").to_a.size
    job = Sidekiq::RetrySet.new.first
    job.kill
    assert_equal [0, 1], [Sidekiq::RetrySet.new.size, Sidekiq::DeadSet.new.size]
    Sidekiq::DeadSet.new.first.delete
    later = Add.perform_in(3600, 500, 5)
    Sidekiq::ScheduledSet.new.find_job(later).add_to_queue
    eventually { noted?("added 505") }
    Add.perform_in(3600, 1, 1)
    Sidekiq::ScheduledSet.new.clear
    Sidekiq::DeadSet.new.kill(Sidekiq.dump_json("class" => "Add", "args" => [1, 1], "jid" => "0" * 24, "queue" => "default", "created_at" => Time.now.to_f))
    assert_equal 1, Sidekiq::DeadSet.new.size
  end

  def test_e_queues_by_hand
    6.times { |number| Add.set(queue: "idle").perform_async(number, 0) }
    idle = Sidekiq::Queue.new("idle")
    assert_equal 6, idle.size
    assert_operator idle.latency, :>=, 0
    idle.first.delete
    assert_equal 5, idle.map(&:klass).count("Add")
    idle.clear
    refute_includes Sidekiq::Queue.all.map(&:name), "idle"
  end

  def test_f_processes_and_what_they_do
    Slow.perform_async(12)
    eventually { noted?("slow begins") }
    eventually("no work") { Sidekiq::WorkSet.new.size == 1 }
    process = Sidekiq::ProcessSet.new.first
    assert_equal [2, ["default", "mail"]], [process["concurrency"], process["queues"].sort]
    Sidekiq::WorkSet.new.each { |_, _, work| assert_equal "Slow", work.job.klass }
    assert_equal 1, Sidekiq::ProcessSet.new(true).size
  end

  def test_g_deployments_are_marked
    2.times { Sidekiq::Deploy.new(Sidekiq.default_configuration.redis_pool).mark!(label: "0a1b2c3 Sell more: now") }
    assert_equal ["0a1b2c3 Sell more: now"], Sidekiq::Deploy.new(Sidekiq.default_configuration.redis_pool).fetch.values
  end

  def test_h_an_iterable_job_goes_on_where_it_was
    Import.perform_async
    eventually { noted?("row 5") }
    self.class.worker.stop
    refute noted?("import complete")
    assert_equal 1, Sidekiq::Queue.new("default").count { |job| job.klass == "Import" }
    self.class.replace_worker
    eventually { noted?("import complete") }
    assert_operator File.read(NOTES).scan("row 1\n").size, :==, 1
  end

  def test_i_processes_are_told_to_end_and_figures_stay
    Sidekiq::ProcessSet.new.each(&:quiet!)
    eventually("it is not quiet") { Sidekiq::ProcessSet.new.all? { |process| process.stopping? } }
    Sidekiq::ProcessSet.new.each(&:stop!)
    self.class.worker.join
    stats = Sidekiq::Stats.new
    assert_operator stats.processed, :>=, 15
    assert_operator stats.failed, :>=, 3
    assert_equal stats.processed, Sidekiq::Stats::History.new(2).processed.values.sum
    classes = ["Add", "Billing::Invoice", "Billing::Old::Invoice", "Import"]
    assert_empty classes - Sidekiq::Metrics::Query.new.top_jobs(minutes: 60).job_results.keys
    refute_empty Sidekiq::Metrics::Query.new.for_job("Add", minutes: 60).job_results
  end
end
