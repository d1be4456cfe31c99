from airflow.sdk import dag, task


@dag(schedule="@daily")
def hello():
    @task
    def greet():
        print("Hello from git")

    greet()


hello()
